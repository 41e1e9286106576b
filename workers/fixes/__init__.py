"""The fix memory: recognises a failure and finds the fix that has helped before."""
