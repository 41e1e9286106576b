"""Requests to merge on forges, through their HTTP interfaces."""
