// Package tomlfile reads the TOML files of people who may make mistakes, and of strangers: it
// bounds them before the library sees them, and tells on which line a key stands.
package tomlfile
