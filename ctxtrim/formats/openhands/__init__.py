"""Histories of OpenHands: its events and its SDK's."""
