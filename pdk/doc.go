// Package pdk is what the author of a Go plugin writes against.
package pdk
