package pressure

import "testing"

func TestBudget(t *testing.T) {
	reports := 0
	b := NewBudget(8*100, func(*Budget) { reports++ })
	var shares []*Share
	for range 2 {
		s := b.Share()
		if !s.Grow(40) {
			t.Fatal("40 of 100 bytes do not fit")
		}
		shares = append(shares, s)
	}
	late := b.Share()
	for range 3 {
		if late.Grow(21) {
			t.Fatal("101 of 100 bytes fit")
		}
	}
	if reports != 1 || b.Rejected() != 3 || b.Reserved() != 80 {
		t.Errorf("%d reports, %d rejected, %d held", reports, b.Rejected(), b.Reserved())
	}
	late.Force(30)
	if b.Reserved() != 110 {
		t.Errorf("a response that must be sent is not counted: %d held", b.Reserved())
	}
	if !shares[0].Grow(-30) || shares[0].Grow(60) || b.Reserved() != 80 || reports != 1 {
		t.Errorf("%d held, %d reports", b.Reserved(), reports)
	}
	for _, s := range append(shares, late) {
		s.Release()
		s.Release()
	}
	large, other := b.Share(), b.Share()
	if !large.Grow(1000) || !other.Grow(1000) || b.Reserved() != 100 {
		t.Errorf("responses larger than the budget cannot be sent: %d held", b.Reserved())
	}
	if !large.Grow(-990) || b.Reserved() != 60 || !large.Grow(990) {
		t.Errorf("a large response that shrinks holds %d", b.Reserved())
	}
	if b.Share().Grow(1) || reports != 2 {
		t.Errorf("%d reports after the budget was free", reports)
	}
}

func TestNoBudget(t *testing.T) {
	b := NewBudget(0, nil)
	s := b.Share()
	if !s.Grow(1<<60) || b.Reserved() != 0 || b.Limit() != 0 || b.Rejected() != 0 {
		t.Error("no limit is one")
	}
	s.Force(1)
	s.Release()
}
