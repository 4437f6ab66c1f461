package request

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/response"
)

// readOptions decodes a request's query parameters into a meta/v1 options struct and
// validates it.
func readOptions[T any](query url.Values, convert func(*url.Values, *T, conversion.Scope) error, kind string, validate func(*T) field.ErrorList) (*T, error) {
	opts := new(T)
	if err := convert(&query, opts, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if errs := validate(opts); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return opts, nil
}

func (rq *Request) CreateOptions() (*metav1.CreateOptions, error) {
	if len(rq.Query) == 0 {
		return &metav1.CreateOptions{}, nil
	}
	return readOptions(rq.Query, metav1.Convert_url_Values_To_v1_CreateOptions, "CreateOptions", metavalidation.ValidateCreateOptions)
}

func (rq *Request) UpdateOptions() (*metav1.UpdateOptions, error) {
	if len(rq.Query) == 0 {
		return &metav1.UpdateOptions{}, nil
	}
	return readOptions(rq.Query, metav1.Convert_url_Values_To_v1_UpdateOptions, "UpdateOptions", metavalidation.ValidateUpdateOptions)
}

func (rq *Request) PatchOptions(patchType types.PatchType) (*metav1.PatchOptions, error) {
	return readOptions(rq.Query, metav1.Convert_url_Values_To_v1_PatchOptions, "PatchOptions", func(opts *metav1.PatchOptions) field.ErrorList {
		return metavalidation.ValidatePatchOptions(opts, patchType)
	})
}

func (rq *Request) TableOptions() (*metav1.TableOptions, error) {
	opts := &metav1.TableOptions{}
	if err := metav1.Convert_url_Values_To_v1_TableOptions(&rq.Query, opts, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if errs := metavalidation.ValidateTableOptions(opts); len(errs) > 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs.ToAggregate()))
	}
	return opts, nil
}

// DeleteOptions decodes the options from the body or, if it is empty, from the query.
func (rq *Request) DeleteOptions() (*metav1.DeleteOptions, error) {
	data, err := rq.Body()
	if err != nil {
		return nil, err
	}
	opts := &metav1.DeleteOptions{}
	if len(data) == 0 {
		if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&rq.Query, opts, nil); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	} else if opts, err = rq.decodeDeleteOptions(data); err != nil {
		return nil, err
	}
	return opts, ValidDeleteOptions(opts)
}

// ValidDeleteOptions returns an error if the options of a deletion contradict each other or have unknown
// values.
func ValidDeleteOptions(opts *metav1.DeleteOptions) error {
	if errs := metavalidation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return nil
}

func (rq *Request) decodeDeleteOptions(data []byte) (*metav1.DeleteOptions, error) {
	media, err := rq.inputMedia()
	if err != nil {
		return nil, err
	}
	opts, err := codec.DecodeDeleteOptions(media, data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	kind := cmp.Or(opts.GroupVersionKind(), metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	rq.Audit.Request(rq.HTTP.Context(), kind, opts, rq.GVR, rq.Subresource)
	return opts, nil
}

// ListOptions are the options of a list, a watch or a deletecollection.
type ListOptions struct {
	metav1.ListOptions
	Label labels.Selector
	Field fields.Selector
}

func (rq *Request) ListOptions() (*ListOptions, error) {
	opts := &ListOptions{}
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&rq.Query, &opts.ListOptions, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var err error
	if opts.Label, err = labels.Parse(opts.LabelSelector); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if opts.Field, err = fields.ParseSelector(opts.FieldSelector); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := opts.settle(rq.Verb == VerbWatch); err != nil {
		return nil, err
	}
	for _, requirement := range opts.Field.Requirements() {
		if !rq.Row.Selectable(requirement.Field) {
			return nil, apierrors.NewBadRequest(rq.Row.NotSelectable(requirement.Field))
		}
	}
	opts.Limit = max(opts.Limit, 0)
	if opts.Field, err = rq.storedLabels(opts.Field); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return opts, nil
}

// settle sets defaults and validates the options: a watch without a version, or with
// "0", starts with the state (KEP-3157).
func (o *ListOptions) settle(isWatch bool) error {
	settled := internalversion.ListOptions{
		Watch: isWatch, ResourceVersion: o.ResourceVersion, ResourceVersionMatch: o.ResourceVersionMatch,
		Continue: o.Continue, SendInitialEvents: o.SendInitialEvents,
	}
	internalversion.SetListOptionsDefaults(&settled, true)
	if errs := internalvalidation.ValidateListOptions(&settled, true); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	o.Watch, o.SendInitialEvents, o.ResourceVersionMatch = isWatch, settled.SendInitialEvents, settled.ResourceVersionMatch
	return nil
}

// storedLabels converts the selector to the fields of the stored version, by which the
// cache and the store select.
func (rq *Request) storedLabels(selector fields.Selector) (fields.Selector, error) {
	labels := rq.Row.FieldAliases
	if rq.Row.Storage != nil {
		labels = rq.Row.Storage.FieldLabels
	}
	if len(labels) == 0 {
		return selector, nil
	}
	return selector.Transform(func(label, value string) (string, string, error) {
		return cmp.Or(labels[label], label), value, nil
	})
}

// Everything reports whether the selectors match all objects.
func (o *ListOptions) Everything() bool { return o.Label.Empty() && o.Field.Empty() }

func IsDryRun(values []string) bool { return len(values) > 0 }

// UnreadableVersion returns the error for a get or watch with an invalid
// resourceVersion. It is a 500, as upstream.
func UnreadableVersion(err error) error {
	return response.NewStatus(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
}
