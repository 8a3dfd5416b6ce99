module github.com/wasmagent/wasmagent/examples/plugins

go 1.26

require github.com/wasmagent/wasmagent v0.0.0

replace github.com/wasmagent/wasmagent => ../..
