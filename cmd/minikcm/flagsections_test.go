package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Each flag of the commands that start a cluster is in a section, and the essential ones come first.
func TestFlagSections(t *testing.T) {
	for _, cmd := range []string{"up", "exec"} {
		found, _, err := newRoot().Find([]string{cmd})
		if err != nil {
			t.Fatal(err)
		}
		sets := sectionsOf(found.LocalFlags(), clusterSections())
		if set := sets.FlagSets[otherFlags]; set != nil {
			set.VisitAll(func(flag *pflag.Flag) { t.Errorf("%s: the flag --%s is in no section", cmd, flag.Name) })
		}
		_, help, _ := call("help", cmd)
		essential, api := strings.Index(help, "Essential flags:"), strings.Index(help, "API server flags:")
		if essential < 0 || api < essential || !strings.Contains(help[essential:api], "--nodes") || strings.Contains(help[essential:api], "--oidc-") {
			t.Errorf("the help of %s does not begin with the essential flags:\n%s", cmd, help)
		}
	}
}
