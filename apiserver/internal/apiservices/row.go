package apiservices

import (
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/resources/columns"
)

// Resource returns the resource of APIServices.
func Resource() schema.GroupVersionResource {
	return apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")
}

// Kind returns the kind APIService.
func Kind() schema.GroupVersionKind {
	return apiregistrationv1.SchemeGroupVersion.WithKind("APIService")
}

// AddToScheme registers the kind's types and their defaults.
func AddToScheme(s *runtime.Scheme) error { return apiregistrationv1.AddToScheme(s) }

// Row returns the kind's row. scheme must have its types; now returns the time for the
// conditions of new objects.
func Row(scheme *runtime.Scheme, now func() metav1.Time) *resources.Resource {
	table := columns.APIService()
	newObject := func() runtime.Object { return &apiregistrationv1.APIService{} }
	return &resources.Resource{
		GroupVersionKind: Kind(),
		Plural:           Resource().Resource,
		Categories:       []string{"api-extensions"},
		StoragePrefix:    Resource().Group + "/" + Resource().Resource,
		Stored:           &resources.StoredForm{Encode: encode, Decode: Decode},
		New:              newObject,
		NewList:          func() runtime.Object { return &apiregistrationv1.APIServiceList{} },
		Strategy: resources.Strategy{
			AnyFinalizer: true,
			Default: func(obj runtime.Object) {
				if s, ok := obj.(*apiregistrationv1.APIService); ok {
					apiregistrationv1.SetObjectDefaults_APIService(s)
				}
			},
			PrepareCreate: func(obj runtime.Object) {
				if s, ok := obj.(*apiregistrationv1.APIService); ok {
					setAvailable(s, now())
				}
			},
			StatusKeeps:               []string{"metadata"},
			NameCheck:                 func(string, bool) []string { return nil }, // the name follows from the spec
			Validate:                  validate,
			ValidateStatusUpdate:      validateStatus,
			ForbidUnconditionalUpdate: true,
		},
		Columns: table.Columns,
		Cells:   table.Cells,
		Subresources: []resources.Subresource{
			{Name: "status", GroupVersionKind: Kind(), Verbs: resources.StatusVerbs, New: newObject},
		},
		FieldManager: managers(scheme),
	}
}

// encode encodes an APIService as upstream stores it: as JSON.
func encode(obj runtime.Object) ([]byte, error) {
	s, ok := obj.(*apiregistrationv1.APIService)
	if !ok {
		return nil, fmt.Errorf("a %T is no APIService", obj)
	}
	stored := *s
	stored.SetGroupVersionKind(Kind())
	data, err := json.Marshal(&stored)
	if err != nil {
		return nil, fmt.Errorf("encoding APIService %s: %w", s.Name, err)
	}
	return append(data, '\n'), nil
}

// Decode decodes a stored APIService.
func Decode(data []byte, into runtime.Object) error {
	s, ok := into.(*apiregistrationv1.APIService)
	if !ok {
		return fmt.Errorf("a %T is no APIService", into)
	}
	if err := json.Unmarshal(data, s); err != nil {
		return err
	}
	s.TypeMeta = metav1.TypeMeta{}
	return nil
}

// managers returns the field managers. They need no schema, because the only list is in
// the status.
func managers(scheme *runtime.Scheme) func(string) (*managedfields.FieldManager, error) {
	lazily := func(subresource string, reset ...string) func() (*managedfields.FieldManager, error) {
		return sync.OnceValues(func() (*managedfields.FieldManager, error) {
			set := fieldpath.NewSet()
			for _, name := range reset {
				set.Insert(fieldpath.MakePathOrDie(name))
			}
			return managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(), scheme, scheme, scheme, Kind(), Kind().GroupVersion(), subresource,
				map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(Kind().GroupVersion().String()): fieldpath.NewExcludeSetFilter(set)})
		})
	}
	main, status := lazily("", "status"), lazily("status", "spec", "metadata")
	return func(subresource string) (*managedfields.FieldManager, error) {
		if subresource == "status" {
			return status()
		}
		return main()
	}
}
