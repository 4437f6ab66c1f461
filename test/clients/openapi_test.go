package clients

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
)

// TestOpenAPI reads the OpenAPI documents as client generators do.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.kubectl("create", "-f", "testdata/crds")
	t.Run("v2", func(t *testing.T) { c.checkV2(t) })
	t.Run("v3", func(t *testing.T) { c.checkV3(t) })
	t.Run("explain", func(t *testing.T) { c.explainAll(t) })
}

func (c *cluster) checkV2(t *testing.T) {
	document := &openapi2.T{}
	if err := json.Unmarshal([]byte(c.kubectl("get", "--raw", "/openapi/v2")), document); err != nil {
		t.Fatal(err)
	}
	converted, err := openapi2conv.ToV3(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := converted.Validate(t.Context(), lenient()...); err != nil {
		t.Error(err)
	}
	seen := map[string]string{}
	for path, item := range document.Paths {
		for method, operation := range item.Operations() {
			where := method + " " + path
			if other := seen[operation.OperationID]; operation.OperationID == "" || other != "" {
				t.Errorf("%s has the id %q, as %s", where, operation.OperationID, other)
			}
			seen[operation.OperationID] = where
			checkOperation(t, where, operation.Extensions)
		}
	}
}

// lenient disables the checks that upstream's own documents fail: they have Go's formats and
// patterns, and empty defaults of objects.
func lenient() []openapi3.ValidationOption {
	return []openapi3.ValidationOption{
		openapi3.DisableSchemaDefaultsValidation(), openapi3.DisableSchemaPatternValidation(), openapi3.DisableExamplesValidation(),
	}
}

func (c *cluster) checkV3(t *testing.T) {
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal([]byte(c.kubectl("get", "--raw", "/openapi/v3")), &index); err != nil {
		t.Fatal(err)
	}
	for name, entry := range index.Paths {
		document, err := openapi3.NewLoader().LoadFromData([]byte(c.kubectl("get", "--raw", entry.ServerRelativeURL)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := document.Validate(t.Context(), lenient()...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for path, item := range document.Paths.Map() {
			for method, operation := range item.Operations() {
				checkOperation(t, method+" "+path, operation.Extensions)
			}
		}
	}
}

// checkOperation checks the extensions by which kubectl and generators find an operation.
func checkOperation(t *testing.T, where string, extensions map[string]any) {
	t.Helper()
	path := where[strings.Index(where, " ")+1:]
	if strings.Count(path, "/") < 4 && !strings.HasPrefix(path, "/api/v1/") || strings.HasSuffix(path, "/") {
		return // discovery
	}
	if strings.Contains(path, "/proxy") || strings.HasPrefix(path, "/openid/") || strings.HasPrefix(path, "/.well-known") {
		return
	}
	for _, name := range []string{"x-kubernetes-action", "x-kubernetes-group-version-kind"} {
		if extensions[name] == nil {
			t.Errorf("%s has no %s", where, name)
		}
	}
}

// explainAll runs "kubectl explain" recursively for every kind.
func (c *cluster) explainAll(t *testing.T) {
	var bare []string
	for _, line := range strings.Split(strings.TrimSpace(c.kubectl("api-resources", "--no-headers", "-o", "wide")), "\n") {
		fields := strings.Fields(line)
		name, version := fields[0], apiVersionOf(fields)
		// The fixture and the types of foreign metrics have no field descriptions.
		if strings.Contains(version, "example.com/") || strings.Contains(version, "metrics.k8s.io/") {
			continue
		}
		r := c.run("", kubectlBinary.path(t), "explain", name, "--api-version="+version, "--recursive")
		if r.code != 0 || strings.Contains(r.out, "DESCRIPTION:\n    <empty>") {
			t.Errorf("explain %s of %s: %s%s", name, version, r.err, r.out)
			continue
		}
		r = c.run("", kubectlBinary.path(t), "explain", name, "--api-version="+version)
		// Upstream's type has no description of its metadata.
		if strings.Contains(r.out, "<no description>") && name != "certificatesigningrequests" {
			bare = append(bare, fmt.Sprintf("%s %s", version, name))
		}
	}
	sort.Strings(bare)
	if len(bare) > 0 {
		t.Errorf("fields without description in: %s", strings.Join(bare, ", "))
	}
}

// apiVersionOf finds the API version among the columns. The column of short names may be
// empty.
func apiVersionOf(fields []string) string {
	for i, f := range fields {
		if (f == "true" || f == "false") && i > 0 {
			return fields[i-1]
		}
	}
	return ""
}
