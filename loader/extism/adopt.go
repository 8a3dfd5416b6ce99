package extism

import "github.com/wasmagent/wasmagent/host"

// Wants implements loader.Explainer.
func (k *kind) Wants() string { return "imports from extism:host/env" }

// Functions implements loader.Adoptable.
func (k *kind) Functions(f *host.Facts) []string { return callable(f) }
