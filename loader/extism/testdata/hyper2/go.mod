module wasmagent.test/hyper2

go 1.26

require github.com/extism/go-pdk v1.1.3
