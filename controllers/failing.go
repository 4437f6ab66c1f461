package controllers

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// worst returns the keys with the most consecutive failures, at most maxFailing.
func worst(failures map[types.NamespacedName]int) []Failing {
	all := make([]Failing, 0, len(failures))
	for key, n := range failures {
		all = append(all, Failing{keyText(key), n})
	}
	slices.SortFunc(all, func(a, b Failing) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.Key, b.Key))
	})
	return all[:min(len(all), maxFailing)]
}

// keyText formats a key as kubectl users write it: without a slash if it has no namespace.
func keyText(key types.NamespacedName) string {
	return strings.TrimPrefix(key.String(), "/")
}
