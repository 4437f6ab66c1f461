package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadPolicies checks that the error for a policy file names the file and the field.
func TestBadPolicies(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
	for name, test := range map[string]struct{ content, want string }{
		"level":      {head + "rules: [{level: All}]", `rules[0].level: Unsupported value: "All"`},
		"stage":      {head + "omitStages: [Later]\nrules: [{level: None}]", "omitStages[0]"},
		"both":       {head + "rules: [{level: None, nonResourceURLs: [/x], resources: [{group: apps}]}]", "rules[0].nonResourceURLs"},
		"no rules":   {head, "0 rules"},
		"old":        {"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]", "v1beta1"},
		"other kind": {"apiVersion: v1\nkind: Pod", "Pod"},
		"empty":      {"", "unknown group version"},
		"not YAML":   {"\t{", "yaml"},
		"deep":       {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), "nested"},
		"large":      {strings.Repeat("#", maxPolicyBytes+1), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			opts := DefaultOptions()
			opts.PolicyFile = path
			err := opts.Validate()
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one of %s with %q", err, path, test.want)
			}
		})
	}
}

// FuzzPolicy checks that the parser returns for any input, and either a policy with rules or
// an error.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n  resources: [{group: '', resources: [pods/*]}]\n"))
	f.Add([]byte(`{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["Panic"],"rules":[{"level":"None","nonResourceURLs":["/a*"]}]}`))
	f.Add([]byte("a: &a [b]\nc: [*a, *a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		policy, err := parsePolicy(data)
		if err == nil && len(policy.Rules) == 0 {
			t.Error("a policy without rules")
		}
	})
}
