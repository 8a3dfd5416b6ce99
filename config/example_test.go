package config_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/wasmagent/wasmagent/config"
)

// A project lowers what its user allows, and a flag has the last word.
func Example() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	user, project := filepath.Join(dir, "user.toml"), filepath.Join(dir, config.ProjectFile)
	for file, content := range map[string]string{
		user:    "[budgets]\nsteps = 100\ndollars = 2\n",
		project: "[budgets]\nsteps = 10\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			log.Fatal(err)
		}
	}

	c, err := config.Load(&config.Options{File: user, Dir: dir, Overrides: []config.Override{
		{Key: "budgets.dollars", Value: 0.5, From: "--max-dollars"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Budgets.Steps, c.Budgets.Dollars)
	for _, s := range c.Effective() {
		if s.From[0].Kind != config.FromDefault {
			fmt.Println(s.Key, s.Value, s.From[0].Kind)
		}
	}
	// Output:
	// 10 0.5
	// budgets.steps 10 project
	// budgets.dollars 0.5 flag
}
