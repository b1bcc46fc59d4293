"""The disparity-relevance curve: a policy swept from uniform to static, its area, and how near it comes to the best."""
