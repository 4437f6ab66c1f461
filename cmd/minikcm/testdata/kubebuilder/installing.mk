# The targets of a Makefile by which projects of kubebuilder run their tests: setup-envtest is a file that make installs.

GO ?= go
LOCALBIN ?= $(shell pwd)/bin
ENVTEST ?= $(LOCALBIN)/setup-envtest
ENVTEST_VERSION ?= release-0.21
ENVTEST_K8S_VERSION ?= 1.33

$(LOCALBIN):
	mkdir -p $(LOCALBIN)

.PHONY: test
test: setup-envtest
	KUBEBUILDER_ASSETS="$(shell $(ENVTEST) use $(ENVTEST_K8S_VERSION) --bin-dir $(LOCALBIN) -p path)" && $(GO) test ./...

.PHONY: setup-envtest
setup-envtest: envtest
	@$(ENVTEST) use $(ENVTEST_K8S_VERSION) --bin-dir $(LOCALBIN) -p path

.PHONY: envtest
envtest: $(ENVTEST)
$(ENVTEST): $(LOCALBIN)
	@echo "$(ENVTEST) would be installed: $(ENVTEST_VERSION)"; exit 1
