package plugins

import (
	"maps"
	"slices"

	"github.com/wasmagent/wasmagent/plugins/internal/schema"
)

// Limits, for tests.
const (
	MaxRepeats     = maxRepeats
	MaxSchemaDepth = schema.MaxDepth
)

// CauseNames lists the names of causes that have a default or a text of their own.
func CauseNames() []string {
	names := slices.Collect(maps.Keys(sandboxTexts))
	return append(names, slices.Collect(maps.Values(defaultCause))...)
}
