package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// hintOf says, given its exit code, what to do about err, or "".
func (a *app) hintOf(code int, err error) string {
	var usage *usageError
	var missing *notFoundError
	var failure *abi.Failure
	var more *hinted
	var refused *notAgreedError
	if hint := a.ledgerHint(err); hint != "" {
		return hint
	}
	switch {
	case errors.As(err, &more):
		return more.hint
	case errors.As(err, &usage):
		return usage.hint
	case errors.As(err, &missing):
		return missing.hint
	case errors.As(err, &refused):
		return refused.hint
	case errors.As(err, &failure) && failure.Code == string(abi.Denied) && deniedPlugin(err) != "":
		return fmt.Sprintf(`trying again cannot help; "%s" shows what the plugin is granted`,
			a.allowHere("wasmagent allow "+shellQuote(deniedPlugin(err)), deniedPlugin(err), a.targetFile()))
	case errors.As(err, &failure) && failure.Permanent:
		return "trying again is not expected to help: with the same input it fails the same way"
	}
	if hint := agentHint(err); hint != "" {
		return hint
	}
	var limit *host.LimitError
	var trap *host.TrapError
	var spec *loader.SpecError
	switch {
	case unnamed(err):
		return a.adoptHint(err)
	case errors.As(err, &limit):
		return "ask for less at a time, or set the plugin's limits in its section of the policy"
	case errors.As(err, &trap) && code == exitHost:
		return "the plugin's own code broke while it was loaded: its author must mend it"
	case errors.As(err, &spec):
		return "the plugin is at fault: tell its author"
	}
	switch code {
	case exitNotAllowed:
		return a.allowHint(err) + a.inspectHint(err) + " shows what the plugin asks for"
	case exitInvalidInput:
		var carriage *transcode.CarriageError
		if errors.As(err, &carriage) {
			return "the input is a JSON object; for single fields there is -f name=value"
		}
		if errors.As(err, &failure) {
			return "the input fits the schema, and the tool refused it; " + a.inspectHint(err) +
				" shows what it says of its input"
		}
		return a.inspectHint(err) + " shows the schema of the tool's input"
	case exitMissingKey:
		return "the tool was not run; give the input the field that its key is taken from"
	case exitMalformed, exitSerialization:
		return "the plugin is at fault, not the input: tell its author"
	case exitTimeout:
		return "give --timeout more time, or none"
	}
	return ""
}

// deniedPlugin is the plugin whose tool says that it was denied something.
func deniedPlugin(err error) string {
	var tool *plugins.ToolError
	if !errors.As(err, &tool) {
		return ""
	}
	return tool.Plugin
}

// allowHint is the command that allows a plugin of a file or a directory that was named, which the
// error's own text cannot know of.
func (a *app) allowHint(err error) string {
	var denied *loader.NotAllowedError
	if !errors.As(err, &denied) {
		return ""
	}
	here := a.allowHere(denied.Allow, denied.Plugin, denied.Path)
	if here == denied.Allow {
		return ""
	}
	return `here that is "` + here + `"; `
}

// allowHere is the command that allows a plugin where it was found.
func (a *app) allowHere(command, plugin, path string) string {
	if a.targetFile() == "" {
		return a.inDirs(command)
	}
	words, name := "wasmagent allow ", shellQuote(plugin)
	return a.underPolicy(words + shellQuote(path) + strings.TrimPrefix(command, words+name))
}

// targetFile is the file of a call that names one.
func (a *app) targetFile() string {
	file, _ := splitTarget(a.target)
	return file
}

// inDirs is a command about the plugin directories and the policy that were named.
func (a *app) inDirs(command string) string {
	words := []string{command}
	for _, dir := range a.dirs {
		words = append(words, "-p", shellQuote(dir))
	}
	return a.underPolicy(strings.Join(words, " "))
}

// underPolicy is a command about a file, under the policy that was named.
func (a *app) underPolicy(command string) string {
	if a.configFile == "" {
		return command
	}
	return command + " --config " + shellQuote(a.configFile)
}

// aboutFile is a command that takes what a path names, which a -p has no part in.
func (a *app) aboutFile(command, path string) string {
	return a.underPolicy("wasmagent " + command + " " + shellQuote(path))
}

// listHint tells of the command that shows the tools.
func (a *app) listHint() string {
	return fmt.Sprintf("%q shows the tools", a.inDirs("wasmagent list"))
}

// inspectHint is the command that shows what err is about.
func (a *app) inspectHint(err error) string {
	var denied *loader.NotAllowedError
	command := "wasmagent inspect"
	switch {
	case errors.As(err, &denied):
		command = a.aboutFile("inspect", denied.Path)
	case isPath(a.target):
		command = a.aboutFile("inspect", a.target)
	case a.target != "":
		command = a.inDirs("wasmagent inspect " + shellQuote(a.target))
	}
	return `"` + command + `"`
}
