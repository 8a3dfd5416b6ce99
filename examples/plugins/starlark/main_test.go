package main

import (
	"testing"

	"github.com/wasmagent/wasmagent/examples/plugins/internal/cases"
)

func TestCases(t *testing.T) { cases.Run(t) }

func TestReadme(t *testing.T) { cases.Readme(t) }
