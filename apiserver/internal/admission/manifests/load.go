package manifests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	policyloader "k8s.io/apiserver/pkg/admission/plugin/policy/manifest/loader"
	webhookloader "k8s.io/apiserver/pkg/admission/plugin/webhook/manifest/loader"

	"minikcm.dev/minikcm/apiserver/internal/configfile"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/nesting"
)

// maxDepth limits the nesting of a document.
const maxDepth = 100

// extensions are the file name extensions of manifests. Other files are not read.
var extensions = []string{".yaml", ".yml", ".json"}

// content holds the objects of a folder.
type content struct {
	// hash changes with the files.
	hash string
	// objects are sorted by their names, and have defaults.
	objects map[string][]runtime.Object
}

// load reads the files of a folder: webhook configurations of one kind, or policies and their bindings.
func load(dir string, kinds []*resources.Resource) (content, error) {
	if err := checkSize(dir); err != nil {
		return content{}, err
	}
	loaded := content{objects: map[string][]runtime.Object{}}
	add := func(kind *resources.Resource, objects []metav1.Object, hash string) {
		loaded.hash = hash
		for _, o := range objects {
			if obj, ok := o.(runtime.Object); ok {
				o.SetResourceVersion(hash) // the compiled policy is kept until the files change
				loaded.objects[kind.Plural] = append(loaded.objects[kind.Plural], obj)
			}
		}
	}
	if len(kinds) == 1 {
		configurations, hash, err := webhookloader.LoadManifests(dir, newDecoder(), accept(kinds[0]))
		add(kinds[0], configurations, hash)
		return loaded, err
	}
	policies, bindings, hash, err := policyloader.LoadPolicyManifests(dir, newDecoder(), accept(kinds[0]), accept(kinds[1]), policyName)
	add(kinds[0], policies, hash)
	add(kinds[1], bindings, hash)
	return loaded, err
}

// checkSize returns an error if the files have more than configfile.MaxBytes together.
func checkSize(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var size int64
	for _, entry := range entries {
		if !slices.Contains(extensions, strings.ToLower(filepath.Ext(entry.Name()))) {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, entry.Name())) // of the file that a link leads to
		if err != nil {
			return err
		}
		size += info.Size()
	}
	if size > configfile.MaxBytes {
		return fmt.Errorf("the files in %s have more than %d bytes", dir, configfile.MaxBytes)
	}
	return nil
}

// limited is a decoder of documents whose nesting is limited.
type limited struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (l limited) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if err := nesting.YAML(data, maxDepth, configfile.MaxBytes); err != nil {
		return nil, nil, err
	}
	return l.Decoder.Decode(data, defaults, into)
}

func newDecoder() runtime.Decoder {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(schema.GroupVersion{Version: "v1"}, &metav1.List{})
	if err := admissionv1.AddToScheme(scheme); err != nil {
		panic(err) // the types of one version do not conflict
	}
	return limited{serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()}
}

// accept returns the function that sets the defaults of an object of a kind, or of a list of them, and
// checks it.
func accept(kind *resources.Resource) func(obj runtime.Object) ([]metav1.Object, error) {
	one := func(obj runtime.Object) (metav1.Object, error) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		if reasons := validation.IsDNS1123Subdomain(m.GetName()); len(reasons) > 0 && m.GetName() != "" {
			return nil, fmt.Errorf("metadata.name %q: %s", m.GetName(), strings.Join(reasons, "; "))
		}
		kind.Strategy.Default(obj)
		return m, kind.Strategy.Validate(obj).ToAggregate()
	}
	return func(obj runtime.Object) ([]metav1.Object, error) {
		items := []runtime.Object{obj}
		switch reflect.TypeOf(obj) {
		case reflect.TypeOf(kind.New()):
		case reflect.TypeOf(kind.NewList()):
			var err error
			if items, err = meta.ExtractList(obj); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%w %T: want %s", policyloader.ErrUnrecognizedType, obj, kind.GroupVersionKind.Kind)
		}
		var accepted []metav1.Object
		var errs []error
		for _, item := range items {
			m, err := one(item)
			accepted, errs = append(accepted, m), append(errs, err)
		}
		return accepted, errors.Join(errs...)
	}
}

// policyName returns the name of the policy of a binding.
func policyName(binding metav1.Object) string {
	switch b := binding.(type) {
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return b.Spec.PolicyName
	case *admissionv1.MutatingAdmissionPolicyBinding:
		return b.Spec.PolicyName
	}
	return ""
}
