package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1beta1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1beta1"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// source holds the inputs that the documents are built from.
type source struct {
	table   *resources.Table
	scheme  *runtime.Scheme
	version string
}

// refTo returns a function that makes references to schemas beneath prefix.
func refTo(prefix string) common.ReferenceCallback {
	return func(name string) spec.Ref { return spec.MustCreateRef(prefix + common.EscapeJsonPointer(name)) }
}

// rows returns the rows of a group and version that have schemas.
func (s *source) rows(gv schema.GroupVersion) []*resources.Resource {
	return slices.DeleteFunc(slices.Clone(s.table.InVersion(gv)), func(row *resources.Resource) bool { return !isDescribed(row) })
}

// routes returns the operations of a group and version.
func (s *source) routes(gv schema.GroupVersion) routes {
	all := routes{{
		method: http.MethodGet, path: basePath(gv) + "/", id: "get" + prefixOf(gv) + "APIResources", tag: tagOf(gv),
		description: "get available resources",
		consumes:    objects, produces: objects,
		reply: &metav1.APIResourceList{}, codes: []int{http.StatusOK},
	}}
	for _, row := range s.rows(gv) {
		all = append(all, routesOf(row)...)
	}
	return all
}

func (s *source) versions() []schema.GroupVersion {
	var all []schema.GroupVersion
	for _, g := range s.table.Groups() {
		for _, version := range g.Versions {
			all = append(all, schema.GroupVersion{Group: g.Name, Version: version})
		}
	}
	return all
}

// info names the version without its patch, as upstream.
func (s *source) info() *spec.Info {
	version := strings.TrimPrefix(s.version, "v")
	if parts := strings.SplitN(version, ".", 3); len(parts) > 2 {
		version = parts[0] + "." + parts[1]
	}
	return &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: version}}
}

// define builds the schemas that operations refer to.
func (s *source) define(rs routes, refs common.ReferenceCallback, v2 bool) (*definitions, error) {
	d := newDefinitions(refs, s.table.Lacks)
	d.v2 = v2
	for _, r := range rs {
		for _, obj := range []any{r.body, r.reply} {
			if obj == nil || obj == text {
				continue
			}
			if err := d.add(obj); err != nil {
				return nil, fmt.Errorf("describing %s: %w", r.id, err)
			}
		}
	}
	return d, nil
}

// v3 builds the document of one group and version.
func (s *source) v3(gv schema.GroupVersion) (*spec3.OpenAPI, error) {
	document, err := s.documentOf(s.routes(gv))
	if err != nil {
		return nil, fmt.Errorf("building the OpenAPI v3 document of %s: %w", gv, err)
	}
	scopeKinds(document, gv)
	return document, nil
}

// scoped are the kinds that every group and version has. A document of version 3 only says so of its own.
var scoped = []any{"WatchEvent", "DeleteOptions"}

// scopeKinds removes the kinds of other groups and versions, except the kinds of v1, from schemas.
func scopeKinds(document *spec3.OpenAPI, gv schema.GroupVersion) {
	for _, described := range document.Components.Schemas {
		kinds, _ := described.Extensions[extKind].([]any)
		if len(kinds) < 2 || !slices.Contains(scoped, kinds[0].(map[string]any)["kind"]) {
			continue
		}
		described.Extensions[extKind] = slices.DeleteFunc(slices.Clone(kinds), func(kind any) bool {
			of := schema.GroupVersion{Group: kind.(map[string]any)["group"].(string), Version: kind.(map[string]any)["version"].(string)}
			return of != gv && of != corev1.SchemeGroupVersion
		})
	}
}

// documentOf builds a document of version 3.
func (s *source) documentOf(rs routes) (*spec3.OpenAPI, error) {
	d, err := s.define(rs, refTo("#/components/schemas/"), false)
	if err != nil {
		return nil, err
	}
	return builder3.BuildOpenAPISpecFromRoutes([]common.RouteContainer{rs}, &common.OpenAPIV3Config{
		Info:            s.info(),
		Definitions:     d.byName,
		SecuritySchemes: securitySchemes(),
		DefaultSecurity: security(),
		CommonResponses: map[int]*spec3.Response{
			http.StatusUnauthorized: {ResponseProps: spec3.ResponseProps{Description: "Unauthorized"}},
		},
		GetOperationIDAndTagsFromRoute: idAndTags,
		GetDefinitionName:              s.kinds(),
	})
}

// v2 builds the document of all groups. It has no defaults, because some clients
// mistake them for values that were set.
func (s *source) v2() (*spec.Swagger, error) {
	var rs routes
	general := s.general()
	for _, path := range slices.Sorted(maps.Keys(general)) {
		rs = append(rs, general[path]...)
	}
	for _, gv := range s.versions() {
		rs = append(rs, s.routes(gv)...)
	}
	d, err := s.define(rs, refTo("#/definitions/"), true)
	if err != nil {
		return nil, err
	}
	document, err := builder.BuildOpenAPISpecFromRoutes([]common.RouteContainer{rs}, &common.Config{
		ProtocolList:        []string{"https"},
		Info:                s.info(),
		SecurityDefinitions: securityDefinitions(),
		DefaultSecurity:     security(),
		// This builder does not use Definitions.
		GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition { return d.byName },
		CommonResponses: map[int]spec.Response{
			http.StatusUnauthorized: {ResponseProps: spec.ResponseProps{Description: "Unauthorized"}},
		},
		GetOperationIDAndTagsFromRoute: idAndTags,
		GetDefinitionName:              s.kinds(),
	})
	if err != nil {
		return nil, fmt.Errorf("building the OpenAPI v2 document: %w", err)
	}
	for name, definition := range document.Definitions {
		withoutDefaults(&definition)
		document.Definitions[name] = definition
	}
	return document, nil
}

func idAndTags(r common.Route) (string, []string, error) {
	own, ok := r.(*route)
	if !ok {
		return "", nil, fmt.Errorf("route of foreign type %T", r)
	}
	return own.id, []string{own.tag}, nil
}

// kinds returns the function from which the builders get the kinds of a schema. Some,
// such as DeleteOptions, have one in every group.
func (s *source) kinds() func(name string) (string, spec.Extensions) {
	byName := map[string][]any{}
	known := maps.Clone(s.scheme.AllKnownTypes())
	for _, add := range []func(*runtime.Scheme) error{
		apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme, apiregistrationv1.AddToScheme, apiregistrationv1beta1.AddToScheme,
		admissionv1.AddToScheme, admissionv1beta1.AddToScheme, imagepolicyv1alpha1.AddToScheme,
	} {
		extensions := runtime.NewScheme()
		if err := add(extensions); err == nil {
			maps.Copy(known, extensions.AllKnownTypes())
		}
	}
	for gvk, t := range known {
		if gvk.Version == runtime.APIVersionInternal || strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/pkg/runtime") {
			continue
		}
		if name := modelName(t); name != "" {
			byName[name] = append(byName[name], map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind})
		}
	}
	s.customKinds(byName)
	s.computedKinds(byName)
	for _, all := range byName {
		slices.SortFunc(all, compareKinds)
	}
	return func(name string) (string, spec.Extensions) {
		if kinds := byName[name]; len(kinds) > 0 {
			return name, spec.Extensions{extKind: kinds}
		}
		return name, nil
	}
}

func compareKinds(a, b any) int {
	for _, key := range []string{"group", "version", "kind"} {
		if order := strings.Compare(a.(map[string]any)[key].(string), b.(map[string]any)[key].(string)); order != 0 {
			return order
		}
	}
	return 0
}

// withoutDefaults removes the defaults from a schema. It copies the parts that the schema holds by
// pointer, which may be shared.
func withoutDefaults(s *spec.Schema) {
	s.Default = nil
	if s.Properties != nil {
		properties := make(map[string]spec.Schema, len(s.Properties))
		for name, property := range s.Properties {
			withoutDefaults(&property)
			properties[name] = property
		}
		s.Properties = properties
	}
	if s.Items != nil && s.Items.Schema != nil {
		element := *s.Items.Schema
		withoutDefaults(&element)
		s.Items = &spec.SchemaOrArray{Schema: &element}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		element := *s.AdditionalProperties.Schema
		withoutDefaults(&element)
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: s.AdditionalProperties.Allows, Schema: &element}
	}
}
