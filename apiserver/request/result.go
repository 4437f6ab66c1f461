package request

import (
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/apiserver/response"
)

const (
	KindTable   = "Table"
	kindPartial = "PartialObjectMetadata"
)

// WriteResult sends one object in the requested format.
func (rq *Request) WriteResult(code int, obj runtime.Object) error {
	switch rq.Target.As.Kind {
	case "":
		return rq.WriteObject(code, rq.Kind(), obj)
	case KindTable:
		opts, err := rq.TableOptions()
		if err != nil {
			return err
		}
		table, err := rq.NewTable(opts, metav1.ListMeta{ResourceVersion: ResourceVersionOf(obj)}, &Page{Objects: []runtime.Object{obj}})
		if err != nil {
			return err
		}
		return rq.WriteObject(code, rq.Target.As, table)
	}
	if rq.Target.As.Kind != kindPartial {
		return noTransform("you requested PartialObjectMetadataList, but the requested object is not a list (%s)", rq.shownType(false))
	}
	partial, err := PartialMetadata(obj)
	if err != nil {
		return err
	}
	return rq.WriteObject(code, rq.Target.As.GroupVersion().WithKind(kindPartial), partial)
}

// noTransform returns the error for an object that cannot be transformed to the
// requested kind.
func noTransform(format, shown string) error {
	return response.NewStatus(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, fmt.Sprintf(format, shown))
}

// WriteList sends a page in the requested format.
func (rq *Request) WriteList(p *Page) error {
	switch rq.Target.As.Kind {
	case "":
		encode := codec.EncodeList
		if rq.Row.Custom {
			encode = codec.EncodeUntypedList
		}
		data, err := encode(rq.Target.Media, rq.Row.GroupVersion().WithKind(rq.Row.ListKind), p.Meta, p)
		if err != nil {
			return response.EncodeError(err)
		}
		response.Bytes(rq.Writer, rq.HTTP, 200, rq.Target.Media.ContentType(), rq.pretty(data))
		return nil
	case KindTable:
		opts, err := rq.TableOptions()
		if err != nil {
			return err
		}
		table, err := rq.NewTable(opts, p.Meta, p)
		if err != nil {
			return err
		}
		return rq.WriteObject(200, rq.Target.As, table)
	}
	if rq.Target.As.Kind == kindPartial {
		return noTransform("you requested PartialObjectMetadata, but the requested object is a list (%s)", rq.shownType(true))
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: p.Meta, Items: make([]metav1.PartialObjectMetadata, p.Len())}
	kind := rq.Target.As.GroupVersion().WithKind(kindPartial)
	for i := range list.Items {
		partial, err := PartialMetadata(p.At(i))
		if err != nil {
			return err
		}
		partial.SetGroupVersionKind(kind)
		list.Items[i] = *partial
	}
	return rq.WriteObject(200, rq.Target.As.GroupVersion().WithKind("PartialObjectMetadataList"), list)
}

// PartialMetadata returns the object's metadata as PartialObjectMetadata.
func PartialMetadata(obj runtime.Object) (*metav1.PartialObjectMetadata, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, response.NotAcceptable()
	}
	return meta.AsPartialObjectMetadata(m), nil
}

// NewTable converts a page to a Table. With opts.NoHeaders it has no column
// definitions.
func (rq *Request) NewTable(opts *metav1.TableOptions, listMeta metav1.ListMeta, p *Page) (*metav1.Table, error) {
	table := &metav1.Table{ListMeta: listMeta, Rows: make([]metav1.TableRow, p.Len())}
	header, cells := rq.printer()
	if !opts.NoHeaders {
		table.ColumnDefinitions = header
	}
	now := rq.Env.Clock.Now()
	for i := range table.Rows {
		obj := p.At(i)
		raw, err := rq.rowObject(opts.IncludeObject, obj)
		if err != nil {
			return nil, err
		}
		table.Rows[i] = metav1.TableRow{Cells: cells(obj, now), Object: runtime.RawExtension{Raw: raw}}
	}
	return table, nil
}

// rowObject returns the object in a Table's row: the metadata, unless the client
// requests otherwise.
func (rq *Request) rowObject(include metav1.IncludeObjectPolicy, obj runtime.Object) ([]byte, error) {
	switch include {
	case metav1.IncludeNone:
		return nil, nil
	case metav1.IncludeObject:
		data, err := codec.Encode(codec.JSON, rq.Kind(), obj)
		return data, err
	}
	partial, err := PartialMetadata(obj)
	if err != nil {
		return nil, err
	}
	partial.SetGroupVersionKind(schema.GroupVersionKind{Group: rq.Target.As.Group, Version: rq.Target.As.Version, Kind: kindPartial})
	data, err := json.Marshal(partial)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("encoding a table row: %w", err))
	}
	return data, nil
}

func (rq *Request) printer() ([]metav1.TableColumnDefinition, cellsFunc) {
	switch {
	case rq.Sub != nil && rq.Sub.Cells != nil:
		return rq.Sub.Columns, rq.Sub.Cells
	case rq.Row.Cells != nil:
		return rq.Row.Columns, rq.Row.Cells
	}
	return defaultColumns, defaultCells
}

func ResourceVersionOf(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetResourceVersion()
}

// WriteObject sends an object without transformation.
func (rq *Request) WriteObject(code int, gvk schema.GroupVersionKind, obj runtime.Object) error {
	data, err := codec.Encode(rq.Target.Media, gvk, obj)
	if err != nil {
		return response.EncodeError(err)
	}
	response.Bytes(rq.Writer, rq.HTTP, code, rq.Target.Media.ContentType(), rq.pretty(data))
	return nil
}

// pretty indents JSON if the client requests it, or if the client is a command line
// tool or a browser.
func (rq *Request) pretty(data []byte) []byte {
	if rq.Target.Pretty && rq.Target.Media == codec.JSON {
		return response.Indent(data)
	}
	return response.Pretty(rq.HTTP, rq.Target.Media, data)
}
