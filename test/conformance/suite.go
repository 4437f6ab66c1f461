//go:build tools

package main

// These imports keep the other programs that "make conformance" builds in go.mod.
import (
	_ "github.com/onsi/ginkgo/v2/ginkgo"
	_ "k8s.io/kubernetes/test/e2e"
)
