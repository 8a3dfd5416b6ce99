package plugins

// Limits, for tests.
const (
	MaxRepeats     = maxRepeats
	MaxSchemaDepth = maxSchemaDepth
)
