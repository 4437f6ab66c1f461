package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// raftLog summarizes the write-ahead log of an etcd.
type raftLog struct {
	files int
	// first and last are the indexes of the first and last entries in the log, which has no gaps;
	// last is the index of the snapshot if no entry follows it.
	first, last uint64
	// snapshot is the index of the newest snapshot that is committed; etcd starts with it.
	snapshot  uint64
	committed uint64
	// torn is set if the last record was not written whole, as a power cut leaves it: the
	// write was never acknowledged, and etcd drops the record.
	torn bool

	snapshots []uint64
	hasBegun  bool // a metadata record has been read
}

// readLog reads all records of the log in dir and checks that they follow on each other.
// The error says which file is damaged, and where; log then holds the records before it. entry, if
// it is not nil, is called for each entry; its error ends the reading.
func readLog(dir string, entry func(*raftpb.Entry) error) (log *raftLog, err error) {
	log = &raftLog{}
	files, err := openLog(dir)
	defer closeFiles(files)
	if err != nil {
		return log, err
	}
	log.files = len(files)
	if len(files) == 0 {
		return log, damaged("write-ahead log", dir, errors.New("it has no files"))
	}
	var readers []fileutil.FileReader
	for _, f := range files {
		readers = append(readers, fileutil.NewFileReader(f))
	}
	decoder := wal.NewDecoder(readers...)
	var r walpb.Record
	for err == nil {
		if err = decoder.Decode(&r); err == nil {
			err = log.add(&r, decoder, entry)
		}
	}
	last := files[len(files)-1]
	switch {
	case errors.Is(err, io.EOF): // the end, or space that is allocated for further records
	case errors.Is(err, io.ErrUnexpectedEOF):
		if err := tornRecord(last, decoder.LastOffset()); err != nil {
			return log, damaged("write-ahead log", last.Name(), fmt.Errorf("at byte %d: %w", decoder.LastOffset(), err))
		}
		log.torn = true
	default:
		return log, damaged("write-ahead log", dir, err)
	}
	if err := log.check(); err != nil {
		return log, damaged("write-ahead log", dir, err)
	}
	return log, nil
}

// openLog opens the files of the log, in order. The caller closes them, also after an error.
func openLog(dir string) (files []*os.File, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil {
		return nil, fmt.Errorf("listing the write-ahead log: %w", err)
	}
	var before uint64
	for i, path := range paths {
		var number, index uint64
		if _, err := fmt.Sscanf(filepath.Base(path), "%016x-%016x.wal", &number, &index); err != nil {
			return files, damaged("write-ahead log", path, errors.New("its name is not that of a log file"))
		}
		if i > 0 && number != before+1 {
			return files, damaged("write-ahead log", path, fmt.Errorf("file number %d is missing", before+1))
		}
		before = number
		file, err := os.Open(path)
		if err != nil {
			return files, fmt.Errorf("opening the write-ahead log: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // it was only read
	}
}

// add reads one record.
func (l *raftLog) add(r *walpb.Record, decoder wal.Decoder, visit func(*raftpb.Entry) error) error {
	switch r.GetType() {
	case wal.MetadataType:
		l.hasBegun = true
	case wal.CrcType:
		// The first file that is left begins with the sum of those that were deleted.
		if sum := decoder.LastCRC(); sum != 0 && r.Validate(sum) != nil {
			return wal.ErrCRCMismatch
		}
		decoder.UpdateCRC(r.GetCrc())
	case wal.StateType:
		var state raftpb.HardState
		if err := proto.Unmarshal(r.Data, &state); err != nil {
			return fmt.Errorf("reading a state: %w", err)
		}
		l.committed = state.GetCommit()
	case wal.SnapshotType:
		var s walpb.Snapshot
		if err := proto.Unmarshal(r.Data, &s); err != nil {
			return fmt.Errorf("reading a snapshot record: %w", err)
		}
		l.snapshots = append(l.snapshots, s.GetIndex())
		l.last = max(l.last, s.GetIndex())
	case wal.EntryType:
		var e raftpb.Entry
		if err := proto.Unmarshal(r.Data, &e); err != nil {
			return fmt.Errorf("reading an entry: %w", err)
		}
		return l.addEntry(&e, visit)
	default:
		return fmt.Errorf("a record has the type %d", r.GetType())
	}
	return nil
}

func (l *raftLog) addEntry(e *raftpb.Entry, visit func(*raftpb.Entry) error) error {
	if l.first == 0 {
		l.first = e.GetIndex()
	} else if e.GetIndex() > l.last+1 {
		return fmt.Errorf("entry %d follows entry %d", e.GetIndex(), l.last)
	}
	// A later entry replaces those from its index on.
	l.last = e.GetIndex()
	if visit != nil {
		return visit(e)
	}
	return nil
}

// check checks that the records agree with each other, once all are read.
func (l *raftLog) check() error {
	begins := false
	for _, s := range l.snapshots {
		// etcd ignores snapshots that are not committed.
		if s <= l.committed {
			begins = true
			l.snapshot = s
		}
	}
	switch {
	case !l.hasBegun || !begins:
		return errors.New("it has no beginning")
	case l.first > l.snapshot+1:
		return fmt.Errorf("its entries begin at %d, and those after snapshot %d are missing", l.first, l.snapshot)
	case l.committed > l.last:
		return fmt.Errorf("it ends with entry %d, but entry %d was committed: its end is missing", l.last, l.committed)
	}
	return nil
}

const (
	logSector    = 512
	frameSize    = 8
	recordPrefix = 32 // bytes of a record that contain the fields before its data
)

// tornRecord returns nil if a power cut explains the invalid record at offset, the last one
// of the log. The disk writes sectors of 512 bytes whole or not at all, and a file has its
// final size before records are written to it. So the record's length, which lies in one
// sector, is right or zero; a wrong one is damage, and so is a file that ends within a record.
func tornRecord(file *os.File, offset int64) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, frameSize+recordPrefix)
	if n, err := file.ReadAt(head, offset); errors.Is(err, io.EOF) {
		head = head[:n]
	} else if err != nil {
		return err
	}
	if len(head) <= frameSize {
		return errors.New("the file ends within a record")
	}
	length, padding := frameLength(head)
	if declared, ok := recordLength(head[frameSize:]); ok && declared != length {
		return fmt.Errorf("a record of %d bytes claims %d", declared, length)
	} else if !ok && !zeroFrom(head, offset) {
		return errors.New("a record is not one")
	}
	// The last record of a file may be beyond its allocated size.
	if end := offset + frameSize + length + padding; end > info.Size() && info.Size() < walSegmentBytes {
		return errors.New("the file ends within a record")
	}
	return nil
}

// frameLength returns the sizes of the record that follows its frame, and of its padding.
func frameLength(frame []byte) (length, padding int64) {
	for i := range 7 {
		length |= int64(frame[i]) << (8 * i)
	}
	if frame[7]&0x80 != 0 {
		padding = int64(frame[7] & 0x7)
	}
	return length, padding
}

// recordLength returns the length that a record's first fields give it: its type, its
// checksum, and the length of its data.
func recordLength(b []byte) (int64, bool) {
	size := int64(0)
	for want := protowire.Number(1); want <= 3; want++ {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || number != want || (kind == protowire.BytesType) != (want == 3) {
			return 0, false
		}
		value, m := protowire.ConsumeVarint(b[n:])
		if m < 0 {
			return 0, false
		}
		b, size = b[n+m:], size+int64(n+m)
		if want == 3 {
			size += int64(value)
		}
	}
	return size, true
}

// zeroFrom reports whether the next sector behind the frame at offset was not written.
func zeroFrom(head []byte, offset int64) bool {
	next := (offset/logSector+1)*logSector - offset
	if next >= int64(len(head)) {
		return false // the record's beginning is in the frame's sector, which was written
	}
	for _, b := range head[next:] {
		if b != 0 {
			return false
		}
	}
	return true
}
