package verbs

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/strategy"
	"minikcm.dev/minikcm/internal/quantityguard"
)

// maxPatchOperations limits a JSON patch, as upstream.
const maxPatchOperations = 10_000

// LimitCopies limits the bytes that the copy operations of one JSON patch add to the object,
// as upstream. Without a limit, each copy of an object into itself doubles it. The library has
// only this variable, which also applies to the patches of admission webhooks.
var LimitCopies = sync.OnceFunc(func() { jsonpatch.AccumulatedCopySizeLimit = request.MaxBodyBytes })

// servePatch serves PATCH on an object or a subresource.
func servePatch(ctx context.Context, rq *Call) error {
	mediaType, _, err := mime.ParseMediaType(rq.HTTP.Header.Get("Content-Type"))
	if err != nil {
		return rq.UnknownPatch()
	}
	patchType := types.PatchType(mediaType)
	if !slices.Contains(rq.PatchTypes(), mediaType) {
		return rq.UnknownPatch()
	}
	opts, err := rq.PatchOptions(patchType)
	if err != nil {
		return err
	}
	rq.options = admission.Options{FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	data, err := rq.Body()
	if err != nil {
		return err
	}
	rq.Audit.Patch(patchType, data)
	w := write{manager: rq.FieldOwner(opts.FieldManager), dryRun: request.IsDryRun(opts.DryRun), patch: true}
	p := patcher{rq: rq, data: data, validation: opts.FieldValidation}
	switch patchType {
	case types.JSONPatchType:
		w.make, err = p.jsonPatch()
	case types.MergePatchType:
		w.make, err = p.mergePatch()
	case types.StrategicMergePatchType:
		w.make, err = p.strategicPatch()
	case types.ApplyYAMLPatchType:
		w.apply, w.createIfMissing = true, rq.Sub == nil
		w.make, err = p.apply(opts.FieldManager, opts.Force != nil && *opts.Force)
	default:
		return rq.UnknownPatch()
	}
	patched, unreadable := w.make, err
	w.make = func(current runtime.Object) (runtime.Object, error) {
		if unreadable != nil {
			return nil, unreadable // not before the object is found
		}
		obj, err := patched(current)
		if err != nil {
			return nil, err
		}
		return obj, rq.CheckIdentity(obj)
	}
	return rq.update(ctx, w)
}

// patcher computes the patched object from the current one.
type patcher struct {
	rq         *Call
	data       []byte
	validation string
}

// lenient reports whether unknown and duplicate fields are ignored.
func (p patcher) lenient() bool { return p.validation == metav1.FieldValidationIgnore }

// read decodes the patch into v and returns the errors of strict decoding.
func (p patcher) read(v any) ([]error, error) {
	if p.lenient() {
		return nil, kjson.UnmarshalCaseSensitivePreserveInts(p.data, v)
	}
	return kjson.UnmarshalStrict(p.data, v)
}

// jsonOperation is an operation of a JSON patch (RFC 6902).
type jsonOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func (p patcher) jsonPatch() (func(runtime.Object) (runtime.Object, error), error) {
	var operations []jsonOperation
	strict, err := p.read(&operations)
	if err != nil {
		text := strings.ReplaceAll(err.Error(), "verbs.jsonOperation", "handlers.jsonPatchOp") // upstream's type
		return nil, apierrors.NewBadRequest("error decoding patch: " + text)
	}
	for i, objection := range strict {
		strict[i] = fmt.Errorf("json patch %w", objection)
	}
	patch, err := jsonpatch.DecodePatch(p.data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(patch) > maxPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(patch)))
	}
	return func(current runtime.Object) (runtime.Object, error) {
		return p.throughJSON(current, strict, func(document []byte) ([]byte, error) {
			patched, err := patch.Apply(document)
			if err != nil {
				return nil, unprocessable(err)
			}
			return patched, nil
		})
	}, nil
}

// unprocessable returns the error for a patch that does not apply to the object.
func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

func (p patcher) mergePatch() (func(runtime.Object) (runtime.Object, error), error) {
	var content map[string]any
	strict, err := p.read(&content)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return func(current runtime.Object) (runtime.Object, error) {
		return p.throughJSON(current, strict, func(document []byte) ([]byte, error) {
			patched, err := jsonpatch.MergePatch(document, p.data)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			return patched, nil
		})
	}, nil
}

// throughJSON applies a patch to the object's JSON and decodes the result. strict has
// the strict decoding errors of the patch itself.
func (p patcher) throughJSON(current runtime.Object, strict []error, patch func([]byte) ([]byte, error)) (runtime.Object, error) {
	kind := p.rq.Kind()
	document, err := codec.Encode(codec.JSON, kind, current)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	patched, err := patch(document)
	if err != nil {
		return nil, err
	}
	obj, got, more, err := p.rq.Read(codec.JSON, patched, kind, p.rq.NewBody())
	if err != nil {
		return nil, unreadable(patched, err)
	}
	if got != kind {
		return nil, unreadable(patched, fmt.Errorf("unable to decode %s into %T", got, p.rq.NewBody()))
	}
	return obj, p.object(patched, strict, more)
}

// object returns the strict decoding errors of the patch and of the patched object, or
// adds them as warnings.
func (p patcher) object(patched []byte, objections []error, more error) error {
	if list, ok := runtime.AsStrictDecodingError(more); ok {
		objections = append(slices.Clone(objections), list.Errors()...)
	}
	if len(objections) == 0 || p.lenient() {
		return nil
	}
	strict := runtime.NewStrictDecodingError(objections)
	if p.validation == metav1.FieldValidationStrict {
		return unreadable(patched, strict)
	}
	p.rq.WarnStrict(strict)
	return nil
}

// unreadable returns the error for a patch whose result does not decode as the kind.
func unreadable(patched any, err error) error {
	if data, ok := patched.([]byte); ok {
		patched = string(data)
	}
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patched, err.Error())})
}

func (p patcher) strategicPatch() (func(runtime.Object) (runtime.Object, error), error) {
	var patch map[string]any
	strict, err := p.read(&patch)
	if err == nil {
		err = p.limitQuantities(p.data)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(current runtime.Object) (runtime.Object, error) {
		original, err := runtime.DefaultUnstructuredConverter.ToUnstructured(current)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		// The merge modifies the patch, so each attempt needs a copy.
		patched, err := strategicpatch.StrategicMergeMapPatch(original, runtime.DeepCopyJSON(patch), p.rq.NewBody())
		if err != nil {
			return nil, strategicError(err)
		}
		return p.fromMap(patched, patch, strict)
	}, nil
}

// limitQuantities refuses a patch, which has the fields of an object, with a quantity that takes long to
// parse. Other patches are looked at when their result is decoded.
func (p patcher) limitQuantities(patch []byte) error {
	if !quantityguard.Suspect(patch) {
		return nil
	}
	return quantityguard.InJSON(patch, reflect.TypeOf(p.rq.NewBody()))
}

// fromMap converts a patched map to an object.
func (p patcher) fromMap(content, patch map[string]any, strict []error) (runtime.Object, error) {
	obj := p.rq.NewBody()
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, obj, !p.lenient())
	if err != nil && !runtime.IsStrictDecodingError(err) {
		return nil, unreadable(fmt.Sprintf("%+v", patch), err)
	}
	if err := p.object(fmt.Appendf(nil, "%+v", patch), strict, err); err != nil {
		return nil, err
	}
	strategy.ClearTypeMeta(obj)
	return obj, nil
}

func strategicError(err error) error {
	if errors.Is(err, mergepatch.ErrBadJSONDoc) || errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList) ||
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys) || errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList) ||
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat) {
		return apierrors.NewBadRequest(err.Error())
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) || mergepatch.IsPreconditionFailed(err) {
		return unprocessable(err)
	}
	// Other errors are a 500, as upstream, although they are the client's fault too.
	return response.NewStatus(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
}
