package damage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/store"
)

// content returns the values of all keys of a data directory.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	s, err := store.StartEmbedded(storetest.Context(t), store.EmbeddedOptions{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.List(storetest.Context(t), "", store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, kv := range list.KeyValues {
		values[kv.Key] = string(kv.Value)
	}
	return values
}

// onlyX accepts the keys and values of fillDataDir.
func onlyX(key string, value []byte) error {
	if len(strings.Trim(key[1:], "ab/0123456789")) > 0 {
		return errors.New("its key is not one of the test")
	}
	if len(bytes.Trim(value, "x")) > 0 {
		return errors.New("it is not only x")
	}
	return nil
}

// repaired checks and repairs a damaged directory, which must not change, and returns the
// content of the new one.
func repaired(t *testing.T, dir string) (*store.CheckReport, *store.RepairReport, map[string]string) {
	t.Helper()
	before := fileSums(t, dir)
	checked, err := store.Check(dir, store.CheckOptions{Value: onlyX})
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "repaired")
	report, err := store.Repair(storetest.Context(t), store.RepairOptions{Path: dir, DataDir: target, Value: onlyX})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, fileSums(t, dir)); diff != "" {
		t.Errorf("the directory has been changed: %s", diff)
	}
	after, err := store.Check(target, store.CheckOptions{Value: onlyX})
	if err != nil || !after.Healthy {
		t.Errorf("the repaired directory is damaged: %+v, %v", after, err)
	}
	return checked, report, content(t, target)
}

func problems(r *store.CheckReport) string {
	var all []string
	for _, l := range r.Layers {
		all = append(all, l.Problems...)
	}
	for _, v := range r.Values {
		all = append(all, v.Key+": "+v.Problem)
	}
	return strings.Join(all, "\n")
}

func TestCheckHealthy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	fillDataDir(t, dir)
	checked, report, after := repaired(t, dir)
	if !checked.Healthy || problems(checked) != "" {
		t.Errorf("a whole directory: %+v", checked)
	}
	if len(report.Lost) > 0 || report.Keys != 50 || report.Records != 50 {
		t.Errorf("repairing a whole directory: %+v", report)
	}
	if diff := cmp.Diff(content(t, dir), after); diff != "" {
		t.Error(diff)
	}
}

// Flipped bits that change what a client reads are found by a check, and what is not lost by
// the report is in the repaired directory as it was.
func TestRepairFlippedBits(t *testing.T) {
	original := filepath.Join(t.TempDir(), "data")
	fillDataDir(t, original)
	want := content(t, original)
	whole, err := os.ReadFile(filepath.Join(original, databasePath))
	if err != nil {
		t.Fatal(err)
	}
	used := usedPages(whole)
	random := rand.New(rand.NewPCG(2, 2))
	for i := range 25 {
		at, bit := used[2+random.IntN(len(used)-2)]+random.IntN([]int{16, 64, 512, 4096}[i%4]), random.IntN(8)
		t.Run(fmt.Sprintf("byte %d bit %d", at, bit), func(t *testing.T) {
			dir := withFlippedBit(t, original, whole, at, bit)
			checked, report, after := repaired(t, dir)
			for key, value := range after {
				if value != want[key] {
					t.Errorf("%q has the value %.100q", key, value)
				}
			}
			if checked.Healthy != (len(report.Lost) == 0) {
				t.Errorf("check: %s\nlost: %q", problems(checked), report.Lost)
			}
			if checked.Healthy && len(after) != len(want) {
				t.Errorf("%d keys of %d", len(after), len(want))
			}
		})
	}
}

// The records behind a damaged branch page are found.
func TestRepairBranch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	fillDataDir(t, dir)
	want := content(t, dir)
	path := filepath.Join(dir, "member", "snap", "db")
	database, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(database); at += os.Getpagesize() {
		if isBranch := binary.NativeEndian.Uint16(database[at+8:]) == 1; isBranch {
			overwrite(t, path, int64(at+16), "\xff\xff\xff\xff")
		}
	}
	checked, report, after := repaired(t, dir)
	if checked.Healthy || report.Found != 50 || len(report.Lost) == 0 {
		t.Errorf("%s\n%+v", problems(checked), report)
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
}

// A damaged value is named. An earlier one takes its place, if there is one.
func TestRepairValue(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "data"), storetest.Context(t)
	fillDataDir(t, dir)
	s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	kv, err := s.Get(ctx, "/a/3", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := s.Put(ctx, "/a/3", []byte("xxyxx"), kv.ModRevision)
	_, err2 := s.Put(ctx, "/b", []byte("y"), 0)
	if err := errors.Join(err1, err2, s.Close()); err != nil {
		t.Fatal(err)
	}
	checked, report, after := repaired(t, dir)
	if len(checked.Values) != 2 || checked.Values[0].Key != "/a/3" || !checked.Values[0].Current {
		t.Errorf("damaged values: %+v", checked.Values)
	}
	if len(report.Lost) != 2 || !strings.Contains(report.Lost[0], "takes its place") || report.Keys != 50 {
		t.Errorf("%+v", report)
	}
	if _, ok := after["/b"]; ok || len(after["/a/3"]) != 1000 {
		t.Errorf("after the repair: %.100q", after["/a/3"])
	}
}

// Writes that are in the log and not in the database are repeated, up to the damage.
func TestRepairLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	fillDataDir(t, dir)
	database := filepath.Join(dir, "member", "snap", "db")
	before, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	addToDataDir(t, dir, "/b/")
	if err := os.WriteFile(database, before, 0o600); err != nil {
		t.Fatal(err)
	}
	log := glob(t, filepath.Join(dir, "member", "wal", "*.wal"))
	ends := recordEnds(t, log)
	overwrite(t, log, ends[len(ends)-20]+100, "flipped")
	checked, report, after := repaired(t, dir)
	if checked.Healthy || !strings.Contains(problems(checked), "crc mismatch") {
		t.Errorf("%s", problems(checked))
	}
	if report.Replayed < 35 || report.Replayed > 49 || len(after) != 50+report.Replayed || !slices.ContainsFunc(report.Lost, func(l string) bool { return strings.Contains(l, "crc mismatch") }) {
		t.Errorf("%d keys: %+v", len(after), report)
	}
}

// A damaged value between two others of its key is dropped, and the repaired directory has no
// gap in the key's history.
func TestRepairValueBetween(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "data"), storetest.Context(t)
	fillDataDir(t, dir)
	s, err := store.StartEmbedded(ctx, store.EmbeddedOptions{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	kv, err := s.Get(ctx, "/a/3", 0)
	if err != nil {
		t.Fatal(err)
	}
	revision := kv.ModRevision
	for _, value := range []string{"xx", "xxyxx", "xxx", "xxxx"} {
		if revision, err = s.Put(ctx, "/a/3", []byte(value), revision); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checked, report, after := repaired(t, dir)
	if len(checked.Values) != 1 || checked.Values[0].Current || len(report.Lost) != 1 {
		t.Errorf("%+v, %+v", checked.Values, report)
	}
	if after["/a/3"] != "xxxx" {
		t.Errorf("after the repair: %.100q", after["/a/3"])
	}
}
