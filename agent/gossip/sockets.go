package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	maxPacket = 64 << 10
	// waitingPackets is asked of the kernel: packets that come while this process does
	// not run. It gives less where its own limit is lower.
	waitingPackets = 2 << 20
	// freePorts is how many free ports of TCP are tried until UDP has it free, too.
	freePorts = 10

	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// sockets is the network. It replaces memberlist's own, which allocates 64 KiB for each packet that
// it waits for: a fifth of all that an agent allocated.
type sockets struct {
	own     netip.AddrPort
	tcp     *net.TCPListener
	udp     *net.UDPConn
	packets chan *memberlist.Packet
	streams chan net.Conn
	// hears reports from which addresses to accept anything.
	hears  func(netip.Addr) bool
	logger *slog.Logger

	closing context.Context
	end     context.CancelFunc
	tasks   sync.WaitGroup
}

var _ memberlist.NodeAwareTransport = (*sockets)(nil)

// listen binds TCP and UDP on the address. Port 0 means one that is free for both.
func listen(address netip.AddrPort, hears func(netip.Addr) bool, logger *slog.Logger) (*sockets, error) {
	for try := 1; ; try++ {
		s, err := bind(address, hears, logger)
		if err == nil || address.Port() != 0 || try == freePorts || !errors.Is(err, syscall.EADDRINUSE) {
			return s, err
		}
	}
}

func bind(address netip.AddrPort, hears func(netip.Addr) bool, logger *slog.Logger) (*sockets, error) {
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(address))
	if err != nil {
		return nil, fmt.Errorf("bind TCP: %w", err)
	}
	own := netip.AddrPortFrom(address.Addr(), tcp.Addr().(*net.TCPAddr).AddrPort().Port())
	udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(own))
	if err != nil {
		_ = tcp.Close()
		return nil, fmt.Errorf("bind UDP: %w", err)
	}
	_ = udp.SetReadBuffer(waitingPackets)
	s := &sockets{own: own, tcp: tcp, udp: udp, packets: make(chan *memberlist.Packet), streams: make(chan net.Conn), hears: hears, logger: logger}
	s.closing, s.end = context.WithCancel(context.Background())
	s.tasks.Go(s.accept)
	s.tasks.Go(s.receive)
	return s, nil
}

func (s *sockets) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return s.own.Addr().Unmap().AsSlice(), int(s.own.Port()), nil
}

func (s *sockets) PacketCh() <-chan *memberlist.Packet { return s.packets }
func (s *sockets) StreamCh() <-chan net.Conn           { return s.streams }

func (s *sockets) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	return s.WriteTo(b, to.Addr)
}

func (s *sockets) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return s.DialTimeout(to.Addr, timeout)
}

func (s *sockets) WriteTo(b []byte, to string) (time.Time, error) {
	address, err := netip.ParseAddrPort(to)
	if err != nil {
		return time.Time{}, err
	}
	_, err = s.udp.WriteToUDPAddrPort(b, address)
	return time.Now(), err
}

func (s *sockets) DialTimeout(to string, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", to, timeout)
}

func (s *sockets) Shutdown() error {
	s.end()
	err := errors.Join(ignoreClosed(s.tcp.Close()), ignoreClosed(s.udp.Close()))
	s.tasks.Wait()
	return err
}

func (s *sockets) accept() {
	s.repeat("accept", func() error {
		conn, err := s.tcp.Accept()
		if err != nil {
			return err
		}
		if from, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !s.hears(from.AddrPort().Addr()) {
			_ = conn.Close()
			return nil
		}
		select {
		case s.streams <- conn:
		case <-s.closing.Done():
			_ = conn.Close()
		}
		return nil
	})
}

func (s *sockets) receive() {
	buffer := make([]byte, maxPacket)
	s.repeat("receive", func() error {
		n, from, err := s.udp.ReadFromUDPAddrPort(buffer)
		now := time.Now()
		if err != nil || n == 0 { // memberlist takes no empty ones
			return err
		}
		if !s.hears(from.Addr()) {
			return nil
		}
		packet := &memberlist.Packet{Buf: bytes.Clone(buffer[:n]), From: net.UDPAddrFromAddrPort(from), Timestamp: now}
		select {
		case s.packets <- packet:
		case <-s.closing.Done():
		}
		return nil
	})
}

// repeat does the step until the sockets are closed, with pauses after failures, of
// which the first of a row is logged.
func (s *sockets) repeat(what string, step func() error) {
	pause := firstPause
	for s.closing.Err() == nil {
		err := step()
		switch {
		case err == nil:
			pause = firstPause
			continue
		case s.closing.Err() != nil:
			return
		}
		if pause == firstPause {
			s.logger.Warn("gossip socket failed", "doing", what, "error", err)
		}
		select {
		case <-time.After(pause):
		case <-s.closing.Done():
		}
		pause = min(2*pause, lastPause)
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
