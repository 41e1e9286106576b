"""What has put failed steps right before: how a failure is recognised, and its fix found again."""
