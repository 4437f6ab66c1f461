//go:build tools

package main

// What "make conformance" builds beside this command: these lines keep it in go.mod.
import (
	_ "github.com/onsi/ginkgo/v2/ginkgo"
	_ "k8s.io/kubernetes/test/e2e"
)
