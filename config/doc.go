// Package config reads what the user, the project and the command line say about runs.
//
//	c, err := config.Load(&config.Options{File: flagConfig, Overrides: flags})
//
// Three layers, each over the one before: the user's file, the file .wasmagent.toml of the working
// directory, and the overrides, which are the caller's flags. The user's file and the overrides are
// trusted. The project's file comes with a repository and is a stranger's: it can tighten and
// choose among what the user offers, and never loosen. What it may say is a column of the table in
// keys.go.
//
// That table is the one place that knows the keys. All else follows from it: what is accepted, what
// an unknown key was meant to be, defaults, what a project may do, and [Config.Effective], which
// lists each value and where it comes from.
//
// Every mistake is an [*Error] with file, line and key. A key is there only if something obeys it,
// so one that is not in the table is an error, never ignored. Values are taken as they are: nothing
// is expanded, neither from the environment nor a ~.
package config
