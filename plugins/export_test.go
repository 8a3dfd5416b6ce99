package plugins

import "github.com/wasmagent/wasmagent/plugins/internal/schema"

// Limits, for tests.
const (
	MaxRepeats     = maxRepeats
	MaxSchemaDepth = schema.MaxDepth
)
