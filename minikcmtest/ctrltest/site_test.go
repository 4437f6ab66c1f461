package ctrltest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"minikcm.dev/minikcm/minikcmtest"
)

var siteVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Site is a custom kind whose pages are ConfigMaps.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitempty"`
}

type SiteSpec struct {
	Pages int    `json:"pages"`
	Theme string `json:"theme,omitempty"`
}

type SiteStatus struct {
	Pages      int                `json:"pages"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (s *Site) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &out
}

type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}

func (l *SiteList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Site, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Site)
	}
	return &out
}

// newScheme returns a scheme with the built-in kinds, CustomResourceDefinitions and Sites.
func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	s.AddKnownTypes(siteVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(s, siteVersion)
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// defineSites creates the CustomResourceDefinition of Sites and returns a client for them.
func defineSites(t testing.TB, c *minikcmtest.Cluster) client.Client {
	t.Helper()
	k, err := client.New(c.Config(), client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	number := apiextensionsv1.JSONSchemaProps{Type: "integer"}
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	schema := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec": object(map[string]apiextensionsv1.JSONSchemaProps{"pages": number, "theme": {Type: "string"}}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"pages": number, "conditions": {
			Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}},
		}}),
	})
	err = k.Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "sites.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: siteVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "sites", Kind: "Site", ListKind: "SiteList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: siteVersion.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func site(name string, pages int) *Site {
	return &Site{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: SiteSpec{Pages: pages}}
}

// sites reconciles Sites. It is a normal operator, without anything specific to minikcm.
type sites struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *sites) SetupWithManager(mgr ctrl.Manager) error {
	r.Client, r.scheme = mgr.GetClient(), mgr.GetScheme()
	// The ConfigMap named theme triggers all Sites.
	ofTheme := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []ctrl.Request {
		list := &SiteList{}
		if obj.GetName() != "theme" || r.List(ctx, list) != nil {
			return nil
		}
		var requests []ctrl.Request
		for i := range list.Items {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return requests
	})
	return ctrl.NewControllerManagedBy(mgr).For(&Site{}).Owns(&corev1.ConfigMap{}).Watches(&corev1.ConfigMap{}, ofTheme).Complete(r)
}

// Reconcile creates one missing page at a time. The event of each page triggers the next
// reconcile.
func (r *sites) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &Site{}
	if err := r.Get(ctx, req.NamespacedName, s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	pages := &corev1.ConfigMapList{}
	if err := r.List(ctx, pages, client.InNamespace(s.Namespace), client.MatchingLabels{"site": s.Name}); err != nil {
		return ctrl.Result{}, err
	}
	theme := &corev1.ConfigMap{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: "theme"}, theme); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if name := theme.Data["name"]; name != s.Spec.Theme {
		s.Spec.Theme = name
		return ctrl.Result{}, r.Update(ctx, s)
	}
	if len(pages.Items) < s.Spec.Pages {
		page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: fmt.Sprintf("%s-%d", s.Name, len(pages.Items)), Labels: map[string]string{"site": s.Name},
		}}
		if err := controllerutil.SetControllerReference(s, page, r.scheme); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.Create(ctx, page)
	}
	if s.Status.Pages == len(pages.Items) {
		return ctrl.Result{}, nil
	}
	s.Status.Pages = len(pages.Items)
	return ctrl.Result{}, r.Status().Update(ctx, s)
}
