package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/storageversions"
)

// ReportInterval is the time between two reports. A report that finds nothing to change writes nothing.
const ReportInterval = 10 * time.Minute

// maxAttempts bounds the attempts to write one StorageVersion. Each failed one means that another server was faster.
const maxAttempts = 20

// Reporter reports in StorageVersions how a server stores the objects of its built-in kinds.
type Reporter struct {
	Client kubernetes.Interface
	Clock  clock.Clock
	// Rows are the built-in rows.
	Rows []*resources.Resource
	// Server is the name of the server's identity Lease.
	Server string
}

// Report creates and updates the entries of the server where needed. It returns the errors of the writes that
// failed.
func (r *Reporter) Report(ctx context.Context) error {
	client := r.Client.InternalV1alpha1().StorageVersions()
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the StorageVersions: %w", err)
	}
	known := map[string]*apiserverinternalv1alpha1.StorageVersion{}
	for i := range list.Items {
		known[list.Items[i].Name] = &list.Items[i]
	}
	var errs []error
	for _, entry := range entries(r.Rows, r.Server) {
		if err := r.write(ctx, entry, known[entry.name]); err != nil {
			errs = append(errs, fmt.Errorf("writing the StorageVersion %s: %w", entry.name, err))
		}
	}
	return errors.Join(errs...)
}

// write writes one entry. v is the StorageVersion as it was listed; nil: it did not exist.
func (r *Reporter) write(ctx context.Context, e entry, v *apiserverinternalv1alpha1.StorageVersion) error {
	client := r.Client.InternalV1alpha1().StorageVersions()
	var err error
	for range maxAttempts {
		if v == nil {
			v, err = client.Create(ctx, &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Name: e.name}}, metav1.CreateOptions{})
		}
		if err == nil {
			changed := v.DeepCopy()
			storageversions.Set(changed, e.ServerStorageVersion, metav1.NewTime(r.Clock.Now().Truncate(time.Second)))
			if apiequality.Semantic.DeepEqual(v.Status, changed.Status) {
				return nil
			}
			_, err = client.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
		if v, err = client.Get(ctx, e.name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			v, err = nil, nil
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("%d attempts failed because others wrote it at the same time", maxAttempts)
}

// entry is a server's entry in the StorageVersion with the name.
type entry struct {
	name string
	apiserverinternalv1alpha1.ServerStorageVersion
}

// entries returns the entries of a server, by name: one for each kind that it stores. Kinds that another row stores
// in another version or group have no entry of their own; their versions are among the decodable ones.
func entries(rows []*resources.Resource, server string) []entry {
	var all []entry
	for _, row := range rows {
		if !row.IsStored() || row.Storage != nil {
			continue
		}
		group := row.Group
		if group == "" {
			group = "core"
		}
		encoded := row.GroupVersion()
		if row.StoredVersion != "" {
			encoded.Version = row.StoredVersion
		}
		served, decoded := []schema.GroupVersion{row.GroupVersion()}, []schema.GroupVersion{row.GroupVersion(), encoded}
		for _, other := range rows {
			if other.Storage != nil && other.Storage.Resource == row.GVR() {
				decoded = append(decoded, other.GroupVersion())
				if other.Group == row.Group {
					served = append(served, other.GroupVersion())
				}
			}
		}
		all = append(all, entry{group + "." + row.Plural, apiserverinternalv1alpha1.ServerStorageVersion{
			APIServerID: server, EncodingVersion: encoded.String(),
			DecodableVersions: inOrder(row.Group, decoded), ServedVersions: inOrder(row.Group, served),
		}})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return all
}

// inOrder returns versions as texts, without repetitions: the group's versions first and, within each group,
// the stable and newest ones first.
func inOrder(group string, versions []schema.GroupVersion) []string {
	slices.SortFunc(versions, func(a, b schema.GroupVersion) int {
		switch {
		case a.Group == b.Group:
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		case a.Group == group:
			return -1
		case b.Group == group:
			return 1
		}
		return strings.Compare(a.Group, b.Group)
	})
	var texts []string
	for _, v := range slices.Compact(versions) {
		texts = append(texts, v.String())
	}
	return texts
}
