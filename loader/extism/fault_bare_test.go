package extism_test

const bareVerb = "__bare"

func bare(string) int { return 0 }
