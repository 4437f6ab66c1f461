package apiserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/store"
)

// withPlugins is an option of start: "name" enables a plugin, "-name" disables one.
func withPlugins(selection ...string) func(*apiserver.Options) {
	return func(o *apiserver.Options) {
		for _, name := range selection {
			if disabled, ok := strings.CutPrefix(name, "-"); ok {
				o.Admission.Disable = append(o.Admission.Disable, disabled)
			} else {
				o.Admission.Enable = append(o.Admission.Enable, name)
			}
		}
	}
}

// withConfig is an option of start: the configuration of the plugins.
func withConfig(t testing.TB, text string) func(*apiserver.Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *apiserver.Options) { o.Admission.ConfigFile = path }
}

const configHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"

func TestAdmissionConfigErrors(t *testing.T) {
	for name, test := range map[string]struct{ config, want string }{
		"another kind":     {"apiVersion: v1\nkind: Pod\n", "they must be apiserver.config.k8s.io/v1 and AdmissionConfiguration"},
		"no plugin":        {configHead + "- name: Foo\n", `plugin "Foo" is unknown`},
		"an unknown field": {configHead + "- name: PodSecurity\n  configurations: {}\n", `unknown field "configurations"`},
		"no file":          {configHead + "- name: PodSecurity\n  path: missing.yaml\n", "the configuration of plugin PodSecurity: open"},
		"a wrong level": {
			configHead + "- name: PodSecurity\n  configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: none}}\n",
			"configuring the admission plugin PodSecurity: ",
		},
	} {
		t.Run(name, func(t *testing.T) { wantStartError(t, test.want, withConfig(t, test.config)) })
	}
}

// wantStartError fails the test unless a server with options does not start, with an error
// that contains a text.
func wantStartError(t *testing.T, want string, change ...func(*apiserver.Options)) {
	t.Helper()
	memory := store.NewMemory()
	defer memory.Close()
	opts := apiserver.Options{Store: memory}
	for _, c := range change {
		c(&opts)
	}
	server, err := apiserver.New(t.Context(), opts)
	if err == nil {
		server.Close()
		t.Fatal("the server started")
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestDisabledPlugins(t *testing.T) {
	h := start(t, withPlugins("-DefaultTolerationSeconds", "-Priority"))
	made := must(h.client().CoreV1().Pods("default").Create(h.ctx, pod("p"), metav1.CreateOptions{}))(t)
	if len(made.Spec.Tolerations) > 0 || made.Spec.Priority != nil {
		t.Errorf("tolerations %v, priority %v", made.Spec.Tolerations, made.Spec.Priority)
	}
}

func TestAlwaysDeny(t *testing.T) {
	memory := store.NewMemory()
	opts := apiserver.Options{Store: memory}
	withPlugins("AlwaysDeny")(&opts)
	server := must(apiserver.New(t.Context(), opts))(t)
	defer server.Close()
	h := &harness{t: t, ctx: t.Context(), server: server}
	maps := h.client(server.Config("admin", "system:masters")).CoreV1().ConfigMaps("default")
	_, err := maps.Create(t.Context(), configMap("a"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `configmaps "a" is forbidden: admission control is denying all modifications`) {
		t.Error(err)
	}
}
