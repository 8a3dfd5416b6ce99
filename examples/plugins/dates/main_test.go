package main

import (
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/examples/plugins/internal/cases"
)

func TestCases(t *testing.T) {
	defer func() { now = time.Now }()
	now = func() time.Time { return time.Date(2026, 3, 29, 21, 5, 6, 0, time.UTC) }
	cases.Run(t)
}

func TestReadme(t *testing.T) { cases.Readme(t) }
