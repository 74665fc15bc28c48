"""Our agent offered over ACP: to editors, to the official SDKs, and to programs written for iFlow."""
