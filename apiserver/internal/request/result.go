package request

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/encodings"
	"minikcm.dev/minikcm/apiserver/internal/response"
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

// WriteList sends a page in the requested format. Of a large page, only pieces are in memory
// at a time, except for a client in this process.
func (rq *Request) WriteList(p *Page) error {
	list, err := rq.listOf(p)
	if err != nil {
		return err
	}
	rq.Audit.ResponseList(list)
	document := response.NewDocument(rq.Writer, rq.HTTP, rq.Target.Media.ContentType(), rq.Reserve)
	if runs := rq.keptRuns(p); runs != nil {
		return document.End(list.EncodeRuns(document, rq.Target.Media, runs))
	}
	var pieces io.Writer
	if !rq.Local {
		pieces = document
	}
	return document.End(list.Encode(pieces, rq.Target.Media, rq.wantsPretty()))
}

// keptRuns returns the runs of a page whose encoding may be kept; nil for others: of objects that
// do not come from the cache, or whose encoding depends on more than the object and the format,
// as a Table on the time. Clients in this process list once, before they watch.
func (rq *Request) keptRuns(p *Page) *encodings.Runs {
	media := rq.Target.Media
	switch {
	case p.Entries == nil, rq.Env.Lists == nil, rq.Local:
		return nil
	case media != codec.Protobuf && (media != codec.JSON || rq.wantsPretty()):
		return nil
	case rq.Target.As.Kind == KindTable, rq.Row.Custom && rq.Row.Storage != nil:
		return nil
	}
	return rq.Env.Lists.Of(rq.Row.GroupVersion().String()+";"+rq.Target.Form(), p.Entries)
}

// listOf returns the list of the page in the requested format.
func (rq *Request) listOf(p *Page) (*codec.List, error) {
	switch rq.Target.As.Kind {
	case "":
		return &codec.List{Kind: rq.Row.GroupVersion().WithKind(rq.Row.ListKind), Meta: p.Meta, Untyped: rq.Row.Custom, Items: p}, nil
	case KindTable:
		opts, err := rq.TableOptions()
		if err != nil {
			return nil, err
		}
		rows := rq.newRows(opts, p)
		if rq.Sub == nil && rq.Row.CellsOf != nil {
			rows.cells = rq.Row.CellsOf(p.Objects)
		}
		return &codec.List{Kind: rq.Target.As, Meta: p.Meta, Table: &codec.Table{Columns: rows.columns(opts)}, Items: rows}, nil
	case kindPartial:
		return nil, noTransform("you requested PartialObjectMetadata, but the requested object is a list (%s)", rq.shownType(true))
	}
	group := rq.Target.As.GroupVersion()
	return &codec.List{Kind: group.WithKind("PartialObjectMetadataList"), Meta: p.Meta, Items: &partials{page: p, kind: group.WithKind(kindPartial)}, NullItems: true}, nil
}

// partials are the items of a PartialObjectMetadataList.
type partials struct {
	page *Page
	kind schema.GroupVersionKind
}

func (p *partials) Len() int { return len(p.page.Objects) }

func (p *partials) At(i int) (any, error) {
	partial, err := PartialMetadata(p.page.Objects[i])
	if err != nil {
		return nil, err
	}
	partial.SetGroupVersionKind(p.kind)
	return partial, nil
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
	rows := rq.newRows(opts, p)
	table := &metav1.Table{ListMeta: listMeta, ColumnDefinitions: rows.columns(opts), Rows: make([]metav1.TableRow, rows.Len())}
	for i := range table.Rows {
		row, err := rows.row(i)
		if err != nil {
			return nil, err
		}
		table.Rows[i] = row
	}
	return table, nil
}

// tableRows are the rows of a Table, made one by one.
type tableRows struct {
	rq      *Request
	page    *Page
	include metav1.IncludeObjectPolicy
	header  []metav1.TableColumnDefinition
	cells   cellsFunc
	now     time.Time
}

func (rq *Request) newRows(opts *metav1.TableOptions, p *Page) *tableRows {
	header, cells := rq.printer()
	return &tableRows{rq: rq, page: p, include: opts.IncludeObject, header: header, cells: cells, now: rq.Env.Clock.Now()}
}

func (t *tableRows) columns(opts *metav1.TableOptions) []metav1.TableColumnDefinition {
	if opts.NoHeaders {
		return nil
	}
	return t.header
}

func (t *tableRows) Len() int              { return len(t.page.Objects) }
func (t *tableRows) At(i int) (any, error) { return t.row(i) }

func (t *tableRows) row(i int) (metav1.TableRow, error) {
	obj := t.page.Objects[i]
	raw, err := t.rq.rowObject(t.include, obj)
	return metav1.TableRow{Cells: t.cells(obj, t.now), Object: runtime.RawExtension{Raw: raw}}, err
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

// NameOf returns the name of an object.
func NameOf(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetName()
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
	if err := rq.Reserve(int64(len(data))); err != nil {
		return err
	}
	rq.Audit.Response(rq.HTTP.Context(), gvk, obj)
	response.Bytes(rq.Writer, rq.HTTP, code, rq.Target.Media.ContentType(), rq.pretty(data))
	return nil
}

// pretty indents JSON if wantsPretty.
func (rq *Request) pretty(data []byte) []byte {
	if rq.Target.Media == codec.JSON && rq.wantsPretty() {
		return response.Indent(data)
	}
	return data
}

// wantsPretty reports whether JSON is indented: if the client requests it, or if the client
// is a command line tool or a browser.
func (rq *Request) wantsPretty() bool { return rq.Target.Pretty || response.WantsPretty(rq.HTTP) }
