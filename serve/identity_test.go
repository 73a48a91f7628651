package serve

import "testing"

// A client without a certificate is its IPv4 address, or the network of its IPv6 address.
func TestClientOf(t *testing.T) {
	for _, x := range []struct {
		address string
		bits    int
		want    string
	}{
		{"192.0.2.1:1234", 64, "192.0.2.1"},
		{"[::ffff:192.0.2.1]:1234", 64, "192.0.2.1"},
		{"[2001:db8:1:2:3:4:5:6]:1234", 64, "2001:db8:1:2::/64"},
		{"[2001:db8:1:2:ffff::1]:80", 64, "2001:db8:1:2::/64"},
		{"[2001:db8:1:2:3:4:5:6]:1234", 48, "2001:db8:1::/48"},
		{"[2001:db8:1:2:3:4:5:6]:1234", 128, "2001:db8:1:2:3:4:5:6/128"},
		{"[fe80::1%eth0]:1234", 64, "fe80::/64"},
		{"@", 64, "@"},
		{"bufconn", 64, "bufconn"},
	} {
		l := Limits{IPv6Prefix: x.bits}
		if got := l.clientOf(Identity{}, x.address); got != x.want {
			t.Errorf("the client at %s is %q with %d bits, want %q", x.address, got, x.bits, x.want)
		}
	}
	if got := new(Limits).clientOf(Identity{SPIFFE: "spiffe://a/b"}, "192.0.2.1:1"); got != "spiffe://a/b" {
		t.Errorf("the client with a certificate is %q, want its identity", got)
	}
	if _, err := (Limits{IPv6Prefix: 129}).withDefaults(); err == nil {
		t.Error("a prefix of 129 bits is no error")
	}
}
