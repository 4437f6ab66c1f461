package crd

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// storedForm is upstream's stored encoding of definitions: JSON of v1beta1, which is
// smaller if all versions have the same schema. It decodes v1 too.
var storedForm = resources.StoredForm{Encode: encodeStored, Decode: decodeStored}

func encodeStored(obj runtime.Object) ([]byte, error) {
	hub, errs := internal(obj)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	out := &apiextensionsv1beta1.CustomResourceDefinition{}
	if err := apiextensionsv1beta1.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(hub, out, nil); err != nil {
		return nil, fmt.Errorf("converting CustomResourceDefinition %s: %w", hub.Name, err)
	}
	out.SetGroupVersionKind(apiextensionsv1beta1.SchemeGroupVersion.WithKind(Kind.Kind))
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encoding CustomResourceDefinition %s: %w", hub.Name, err)
	}
	return append(data, '\n'), nil
}

func decodeStored(data []byte, into runtime.Object) error {
	definition, ok := into.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return fmt.Errorf("a %T is no CustomResourceDefinition", into)
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(data, &meta); err != nil {
		return err
	}
	switch meta.APIVersion {
	case apiextensionsv1.SchemeGroupVersion.String():
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(definition); err != nil {
			return err
		}
	case apiextensionsv1beta1.SchemeGroupVersion.String():
		if err := decodeBeta(data, definition); err != nil {
			return err
		}
	default:
		return fmt.Errorf("a CustomResourceDefinition is stored as %q", meta.APIVersion)
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(definition)
	definition.TypeMeta = metav1.TypeMeta{}
	return nil
}

func decodeBeta(data []byte, definition *apiextensionsv1.CustomResourceDefinition) error {
	beta := &apiextensionsv1beta1.CustomResourceDefinition{}
	if err := json.Unmarshal(data, beta); err != nil {
		return err
	}
	apiextensionsv1beta1.SetObjectDefaults_CustomResourceDefinition(beta)
	hub := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1beta1.Convert_v1beta1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(beta, hub, nil); err != nil {
		return err
	}
	return apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(hub, definition, nil)
}
