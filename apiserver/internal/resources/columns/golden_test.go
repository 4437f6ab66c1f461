package columns

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/kubernetes/scheme"

	"minikcm.dev/minikcm/internal/golden"
)

var tables = map[schema.GroupVersionKind]Table{
	{Version: "v1", Kind: "ConfigMap"}:                                                               ConfigMap(),
	{Version: "v1", Kind: "Endpoints"}:                                                               Endpoints(),
	{Version: "v1", Kind: "Event"}:                                                                   Event(),
	{Version: "v1", Kind: "Namespace"}:                                                               Namespace(),
	{Version: "v1", Kind: "Node"}:                                                                    Node(),
	{Version: "v1", Kind: "Pod"}:                                                                     Pod(),
	{Version: "v1", Kind: "PodTemplate"}:                                                             PodTemplate(),
	{Version: "v1", Kind: "ReplicationController"}:                                                   ReplicationController(),
	{Version: "v1", Kind: "Secret"}:                                                                  Secret(),
	{Version: "v1", Kind: "Service"}:                                                                 Service(),
	{Version: "v1", Kind: "ServiceAccount"}:                                                          ServiceAccount(),
	{Group: "apps", Version: "v1", Kind: "ControllerRevision"}:                                       ControllerRevision(),
	{Group: "apps", Version: "v1", Kind: "DaemonSet"}:                                                DaemonSet(),
	{Group: "apps", Version: "v1", Kind: "Deployment"}:                                               Deployment(),
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}:                                               ReplicaSet(),
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}:                                              StatefulSet(),
	{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}:                                     Lease(),
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}:                                EndpointSlice(),
	{Group: "events.k8s.io", Version: "v1", Kind: "Event"}:                                           EventsV1Event(),
	{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}:                               PriorityClass(),
	{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PodGroup"}:                               PodGroup(),
	{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "Workload"}:                               SchedulingWorkload(),
	{Version: "v1", Kind: "PersistentVolume"}:                                                        PersistentVolume(),
	{Version: "v1", Kind: "PersistentVolumeClaim"}:                                                   PersistentVolumeClaim(),
	{Version: "v1", Kind: "ResourceQuota"}:                                                           ResourceQuota(),
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}:          MutatingAdmissionPolicy(),
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicyBinding"}:   MutatingAdmissionPolicyBinding(),
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}:     MutatingWebhookConfiguration(),
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}:        ValidatingAdmissionPolicy(),
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"}: ValidatingAdmissionPolicyBinding(),
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}:   ValidatingWebhookConfiguration(),
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}:                           HorizontalPodAutoscaler(),
	{Group: "batch", Version: "v1", Kind: "CronJob"}:                                                 CronJob(),
	{Group: "batch", Version: "v1", Kind: "Job"}:                                                     Job(),
	{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}:                 CertificateSigningRequest(),
	{Group: "certificates.k8s.io", Version: "v1", Kind: "ClusterTrustBundle"}:                        ClusterTrustBundle(),
	{Group: "certificates.k8s.io", Version: "v1", Kind: "PodCertificateRequest"}:                     PodCertificateRequest(),
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "FlowSchema"}:                       FlowSchema(),
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Kind: "PriorityLevelConfiguration"}:       PriorityLevelConfiguration(),
	{Group: "internal.apiserver.k8s.io", Version: "v1alpha1", Kind: "StorageVersion"}:                StorageVersion(),
	{Group: "networking.k8s.io", Version: "v1", Kind: "IPAddress"}:                                   IPAddress(),
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}:                                     Ingress(),
	{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"}:                                IngressClass(),
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}:                               NetworkPolicy(),
	{Group: "networking.k8s.io", Version: "v1", Kind: "ServiceCIDR"}:                                 ServiceCIDR(),
	{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}:                                      RuntimeClass(),
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:                                    PodDisruptionBudget(),
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}:                  ClusterRoleBinding(),
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}:                         RoleBinding(),
	{Group: "resource.k8s.io", Version: "v1", Kind: "DeviceClass"}:                                   DeviceClass(),
	{Group: "resource.k8s.io", Version: "v1", Kind: "DeviceTaintRule"}:                               DeviceTaintRule(),
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}:                                 ResourceClaim(),
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaimTemplate"}:                         ResourceClaimTemplate(),
	{Group: "resource.k8s.io", Version: "v1alpha3", Kind: "ResourcePoolStatusRequest"}:               ResourcePoolStatusRequest(),
	{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"}:                                 ResourceSlice(),
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"}:                                      CSIDriver(),
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSINode"}:                                        CSINode(),
	{Group: "storage.k8s.io", Version: "v1", Kind: "CSIStorageCapacity"}:                             CSIStorageCapacity(),
	{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}:                                   StorageClass(),
	{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"}:                               VolumeAttachment(),
	{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttributesClass"}:                          VolumeAttributesClass(),
	{Group: "storagemigration.k8s.io", Version: "v1", Kind: "StorageVersionMigration"}:               StorageVersionMigration(),
}

// TestGolden prints the objects of each testdata/*.yaml as kubectl get does, plain and
// wide, and compares with the .txt file of that name.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	seen := map[schema.GroupVersionKind]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			gvk, table := readTable(t, file)
			seen[gvk] = true
			got := printTable(t, table, false) + "\n" + printTable(t, table, true)
			golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".txt", got)
		})
	}
	for gvk := range tables {
		if !seen[gvk] {
			t.Errorf("%v has no test data", gvk)
		}
	}
}

// readTable returns the Table of the objects in a file, at noon.
func readTable(t *testing.T, file string) (schema.GroupVersionKind, *metav1.Table) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	result := &metav1.Table{}
	var kind schema.GroupVersionKind
	var list []runtime.Object
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if _, known := tables[*gvk]; !known {
			t.Fatalf("%s: no table of %v", file, gvk)
		}
		kind, list = *gvk, append(list, obj)
	}
	table := tables[kind]
	if table.CellsOf != nil {
		table.Cells = table.CellsOf(list)
	}
	result.ColumnDefinitions = table.Columns
	for _, obj := range list {
		result.Rows = append(result.Rows, row(t, table, obj, now))
	}
	return kind, result
}

func row(t *testing.T, table Table, obj runtime.Object, now time.Time) metav1.TableRow {
	t.Helper()
	cells := table.Cells(obj, now)
	if len(cells) != len(table.Columns) {
		t.Fatalf("%d cells for %d columns", len(cells), len(table.Columns))
	}
	for i, cell := range cells {
		switch cell.(type) {
		case string, int64, bool:
		default:
			t.Errorf("cell %s is a %T", table.Columns[i].Name, cell)
		}
	}
	return metav1.TableRow{Cells: cells}
}

func printTable(t *testing.T, table *metav1.Table, wide bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := printers.NewTablePrinter(printers.PrintOptions{Wide: wide}).PrintObj(table.DeepCopy(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
