package plugins_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/apiserver/internal/admission/plugins"
	"minikcm.dev/minikcm/internal/golden"
)

// upstreamPlugins are the plugins of kube-apiserver v1.37 in its order; "+" marks the plugins
// that are on by default. NodeRestriction is, as in a cluster of kubeadm.
const upstreamPlugins = `AlwaysAdmit NamespaceAutoProvision +NamespaceLifecycle NamespaceExists
LimitPodHardAntiAffinityTopology +LimitRanger +ServiceAccount +NodeRestriction +TaintNodesByCondition
AlwaysPullImages ImagePolicyWebhook +PodSecurity PodNodeSelector +Priority +DefaultTolerationSeconds
PodTolerationRestriction EventRateLimit ExtendedResourceToleration +DefaultStorageClass
+StorageObjectInUseProtection +PodGroupProtection OwnerReferencesPermissionEnforcement
+PersistentVolumeClaimResize +RuntimeClass +CertificateApproval +CertificateSigning
+ClusterTrustBundleAttest +CertificateSubjectRestriction +DefaultIngressClass DenyServiceExternalIPs
+PodTopologyLabels +NodeDeclaredFeatureValidator +PodResizeValidator +MutatingAdmissionPolicy
+MutatingAdmissionWebhook +ValidatingAdmissionPolicy +ValidatingAdmissionWebhook +ResourceQuota AlwaysDeny`

func TestAdmissionPluginsAreUpstreams(t *testing.T) {
	var got []string
	for _, row := range plugins.Table() {
		name := row.Name
		if row.Default {
			name = "+" + name
		}
		got = append(got, name)
		if row.Does == "" {
			t.Errorf("%s: what it does is missing", row.Name)
		}
	}
	if diff := cmp.Diff(strings.Fields(upstreamPlugins), got); diff != "" {
		t.Error(diff)
	}
}

// TestAdmissionDocs compares docs/admission.md with the table.
func TestAdmissionDocs(t *testing.T) {
	var table strings.Builder
	for _, row := range plugins.Table() {
		state := "off"
		if row.Default {
			state = "on"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", row.Name, state, row.Does)
	}
	text, err := os.ReadFile("testdata/admission.md")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../../../../docs/admission.md", strings.Replace(string(text), "TABLE\n", table.String(), 1))
}

func TestAdmissionOptions(t *testing.T) {
	for name, test := range map[string]struct {
		opts plugins.Options
		want string
	}{
		"nothing":         {plugins.Options{}, ""},
		"one of each":     {plugins.Options{Enable: []string{"AlwaysPullImages"}, Disable: []string{"LimitRanger"}}, ""},
		"the default":     {plugins.Options{Enable: []string{"LimitRanger"}, Disable: []string{"AlwaysDeny"}}, ""},
		"unknown":         {plugins.Options{Enable: []string{"Foo"}}, `enable-admission-plugins plugin "Foo" is unknown`},
		"unknown to stop": {plugins.Options{Disable: []string{"Foo"}}, `disable-admission-plugins plugin "Foo" is unknown`},
		"both":            {plugins.Options{Enable: []string{"LimitRanger", "AlwaysAdmit"}, Disable: []string{"LimitRanger", "AlwaysAdmit"}}, `[AlwaysAdmit LimitRanger] in enable-admission-plugins and disable-admission-plugins overlapped`},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.opts.Check()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}
