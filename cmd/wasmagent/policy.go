package main

import (
	"slices"

	"github.com/wasmagent/wasmagent/policy"
)

// operator gives the operator's word about plugins, which is read when it is first needed.
func (a *app) operator() (*policy.Policy, error) {
	if a.policy != nil {
		return a.policy, nil
	}
	p, err := a.openPolicy()
	if err != nil {
		return nil, err
	}
	a.policy = p
	a.closeAtEnd("policy", p.Close)
	return p, nil
}

// openPolicy reads the file that --config names, which must be there unless the command makes
// it, or the user's.
func (a *app) openPolicy() (*policy.Policy, error) {
	dirs, _, err := a.pluginDirs()
	if err != nil {
		dirs = nil // a command that names a file needs none
	}
	protect := append(slices.Clone(dirs), a.ledgerPath())
	return policy.Open(a.policyFile(), &policy.Options{
		Optional: a.configFile == "" || a.makesConfig, Protect: protect, Kinds: kindNames(),
	})
}

func (a *app) policyFile() string {
	if a.configFile != "" {
		return a.configFile
	}
	return policy.File()
}
