//go:build noextismsdk

package main

// A program that is built with the tag has no SDK of Extism's, nor what that depends on. A policy
// that chooses the engine extism-sdk is refused.

func sdkCommand() []string { return nil }

func beSDK() {}
