"""replan beside other people's tools: the same work, the same servers, one run."""
