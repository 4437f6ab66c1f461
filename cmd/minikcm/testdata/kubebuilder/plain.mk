# The targets of a Makefile by which projects of kubebuilder run their tests: setup-envtest is a program in PATH.

GO ?= go
ENVTEST ?= setup-envtest
ENVTEST_K8S_VERSION ?= 1.33
LOCALBIN ?= $(shell pwd)/bin

.PHONY: test
test:
	KUBEBUILDER_ASSETS="$(shell $(ENVTEST) use $(ENVTEST_K8S_VERSION) --bin-dir $(LOCALBIN) -p path)" && $(GO) test ./...
