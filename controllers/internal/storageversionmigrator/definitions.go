package storageversionmigrator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	migrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/controllers/internal/storageversionmigrator/decide"
)

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// fieldManager is upstream's manager of the fields of definitions.
const fieldManager = "migration-runner-controller"

// definitions are the CustomResourceDefinitions of migrated resources.
type definitions struct{ client dynamic.ResourceInterface }

// definition holds the fields of a CustomResourceDefinition that a migration uses.
type definition struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Versions []struct {
			Name    string `json:"name"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// get returns the definition of a migration's resource, or nil.
func (d definitions) get(ctx context.Context, m *migrationv1.StorageVersionMigration) (*definition, error) {
	if m.Spec.Resource.Group == "" {
		return nil, nil
	}
	name := m.Spec.Resource.Resource + "." + m.Spec.Resource.Group
	o, err := d.client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting CustomResourceDefinition %s: %w", name, err)
	}
	found := &definition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, found); err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
	}
	return found, nil
}

// begin sets the condition StorageMigrating of the definition, if there is one.
func (d definitions) begin(ctx context.Context, m *migrationv1.StorageVersionMigration, now time.Time) error {
	found, err := d.get(ctx, m)
	if found == nil || err != nil {
		return err
	}
	return d.apply(ctx, found, metav1.Condition{
		Status: metav1.ConditionTrue, Reason: "MigrationRunning", Message: fmt.Sprintf("Migration %s is running", m.Name),
		LastTransitionTime: metav1.NewTime(now),
	}, "")
}

// end sets the condition StorageMigrating of the definition to false, and its stored versions to
// the storage version if the spec is the same as at the beginning.
func (d definitions) end(ctx context.Context, m *migrationv1.StorageVersionMigration, now time.Time) error {
	found, err := d.get(ctx, m)
	if found == nil || err != nil {
		return err
	}
	same := false
	for _, c := range found.Status.Conditions {
		same = same || c.Type == storageMigrating && c.ObservedGeneration == found.Generation
	}
	condition := metav1.Condition{
		Status: metav1.ConditionFalse, Reason: "MigrationFailed", Message: "The migration has failed",
		LastTransitionTime: metav1.NewTime(now),
	}
	stored := ""
	if decide.Succeeded(m) {
		condition.Reason = "MigrationSucceeded"
		condition.Message = "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"
		if same {
			condition.Message = "The migration has succeeded and the stored versions have been updated"
			stored = found.storageVersion()
		}
	}
	return d.apply(ctx, found, condition, stored)
}

func (d *definition) storageVersion() string {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// storageMigrating is the type of the condition of definitions.
const storageMigrating = "StorageMigrating"

// apply applies the condition and, if stored is not empty, the stored version to the definition's
// status. It fails with a conflict if the definition has changed.
func (d definitions) apply(ctx context.Context, found *definition, condition metav1.Condition, stored string) error {
	condition.Type, condition.ObservedGeneration = storageMigrating, found.Generation
	status := map[string]any{"conditions": []metav1.Condition{condition}}
	if stored != "" {
		status["storedVersions"] = []string{stored}
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": definitionResource.GroupVersion().String(), "kind": "CustomResourceDefinition",
		"metadata": map[string]string{"name": found.Name, "resourceVersion": found.ResourceVersion}, "status": status,
	})
	if err != nil {
		return fmt.Errorf("encoding the status of CustomResourceDefinition %s: %w", found.Name, err)
	}
	force := true
	_, err = d.client.Patch(ctx, found.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: fieldManager, Force: &force}, "status")
	if err != nil {
		return fmt.Errorf("writing the status of CustomResourceDefinition %s: %w", found.Name, err)
	}
	return nil
}
