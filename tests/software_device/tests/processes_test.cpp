// SPDX-License-Identifier: Apache-2.0
// Two processes reach each other's memory and wake each other, and one outlives the other.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>

#include "tests/software_device/segment/process.h"
#include "tests/software_device/segment/ring.h"
#include "tests/software_device/segment/shared_lock.h"
#include "tests/software_device/segment/tables.h"
#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

/// The other process's end of a socket.
class Talk {
 public:
  explicit Talk(int fd) : fd_(fd) {}
  template <class Value>
  void tell(const Value& value) const {
    ASSERT_EQ(write(fd_, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class Value>
  Value hear() const {
    Value value{};
    EXPECT_EQ(read(fd_, &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }

 private:
  int fd_;
};

/// Runs a child process; it is killed and reaped at the latest when this goes.
class Child {
 public:
  explicit Child(const std::function<void(const Talk&)>& run) {
    std::array<int, 2> sockets{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      alarm(60);  // it never outlives a test that hangs
      run(Talk(sockets[1]));
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    close(sockets[1]);
    fd_ = sockets[0];
  }
  Child(Child&&) = delete;
  ~Child() {
    kill();
    close(fd_);
  }
  Talk talk() const { return Talk(fd_); }
  auto pid() const { return static_cast<std::uint32_t>(pid_); }
  /// @return its exit status
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

/// Connects an end's only QP to that of the other process.
Address meet(End& end, const Talk& talk, const Patience& patience = {}) {
  talk.tell(end.address());
  const auto peer = talk.hear<Address>();
  connect(*end.qps[0], peer.qpn, patience);
  talk.tell('c');
  talk.hear<char>();
  return peer;
}

ibv_wc_status write_there(End& end, const Address& peer, std::uint32_t length) {
  ibv_sge source = end.sge(0, length);
  EXPECT_EQ(post_send(*end.qps[0], to_remote(request(IBV_WR_RDMA_WRITE, source), peer, 1000)), 0);
  return next_completion(*end.send_cq).status;
}

TEST(SoftwareDeviceProcesses, BytesArriveInTheOthersMemory) {
  Child child([](const Talk& talk) {
    End end(1);
    end.add_qp();
    const Address peer = meet(end, talk);
    fill(std::span(end.memory).first(30001), 9);
    EXPECT_EQ(write_there(end, peer, 30001), IBV_WC_SUCCESS);
    talk.tell('w');
    talk.hear<char>();
  });
  End end;
  end.add_qp();
  meet(end, child.talk());
  child.talk().hear<char>();
  EXPECT_TRUE(holds(std::span(end.memory).subspan(1000, 30001), 9));
  child.talk().tell('e');
  EXPECT_EQ(child.wait(), 0);
}

TEST(SoftwareDeviceProcesses, AMessageWakesTheOtherProcess) {
  Child child([](const Talk& talk) {
    End end;
    end.add_qp();
    meet(end, talk);
    ibv_sge source = end.sge(0, 100);
    fill(std::span(end.memory).first(100), 4);
    EXPECT_EQ(post_send(*end.qps[0], request(IBV_WR_SEND, source, 0)), 0);
    talk.hear<char>();
  });
  End end(0, ibv_create_comp_channel);
  end.add_qp();
  const std::array sink{end.sge(0, 100)};
  ASSERT_EQ(post_recv(*end.qps[0], 1, sink), 0);
  ASSERT_EQ(ibv_req_notify_cq(end.recv_cq.get(), 0), 0);
  meet(end, child.talk());
  pollfd readable{end.channel->fd, POLLIN, 0};
  ASSERT_EQ(poll(&readable, 1, 20000), 1);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(end.channel.get(), &cq, &context), 0);
  ibv_ack_cq_events(cq, 1);
  EXPECT_EQ(next_completion(*end.recv_cq).byte_len, 100U);
  EXPECT_TRUE(holds(std::span(end.memory).first(100), 4));
  child.talk().tell('e');
  EXPECT_EQ(child.wait(), 0);
}

/// Of a child: connects a QP, and does nothing with it.
void wait_to_be_killed(const Talk& talk) {
  End end;
  end.add_qp();
  meet(end, talk);
  pause();
}

TEST(SoftwareDeviceProcesses, AKilledPeerIsFoundOutByTheTimeout) {
  Child child(wait_to_be_killed);
  End end;
  end.add_qp();
  const Address peer = meet(end, child.talk(), {.timeout = 10, .retry_count = 1});
  EXPECT_EQ(write_there(end, peer, 8), IBV_WC_SUCCESS);
  child.kill();
  EXPECT_EQ(write_there(end, peer, 8), IBV_WC_RETRY_EXC_ERR);
}

TEST(SoftwareDeviceProcesses, AKilledPeerWithoutReceivesIsNotTakenForOneThatIsLate) {
  Child child(wait_to_be_killed);
  End end;
  end.add_qp();
  meet(end, child.talk(), {.timeout = 10, .retry_count = 1, .rnr_retry = 1});
  child.kill();
  ibv_sge source = end.sge(0, 8);
  ASSERT_EQ(post_send(*end.qps[0], request(IBV_WR_SEND, source)), 0);
  EXPECT_EQ(next_completion(*end.send_cq).status, IBV_WC_RETRY_EXC_ERR);
}

TEST(SoftwareDeviceProcesses, WhoComesFreesWhatAKilledOneHad) {
  const End end;  // the session goes on
  Address had;
  {
    const Child killed([](const Talk& talk) {
      End theirs;
      theirs.add_qp();
      talk.tell(theirs.address());
      pause();
    });
    had = killed.talk().hear<Address>();
  }
  const QpEntry& qp = tables().qps[had.qpn % kQps];
  const KeyEntry& key = tables().keys[(had.rkey >> 8) % kKeys];
  EXPECT_TRUE(qp.taken && key.taken);
  Child next([](const Talk&) { End(); });
  EXPECT_EQ(next.wait(), 0);
  EXPECT_FALSE(qp.taken || key.taken);
}

/// Of memory of zeros that a child process shares.
template <class T>
class Shared {
 public:
  Shared()
      : at_(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(at_, MAP_FAILED);
  }
  Shared(Shared&&) = delete;
  ~Shared() { munmap(at_, sizeof(T)); }
  T& operator*() const { return *static_cast<T*>(at_); }

 private:
  void* at_;
};

TEST(SoftwareDeviceProcesses, AnEntryWaitsForUsersThatLiveAndForNoneThatWasKilled) {
  const Shared<UseCount> shared;
  UseCount& uses = *shared;
  Child child([&](const Talk& talk) {
    uses.enter();
    uses.enter();
    talk.tell('e');
    talk.hear<char>();  // the owner is about to wait
    usleep(50'000);
    uses.leave();
    raise(SIGKILL);  // within the second use
  });
  child.talk().hear<char>();
  child.talk().tell('w');
  uses.await_none();
  EXPECT_TRUE(process_ended(child.pid()));
}

/// @param hold, let_go  by a child process, which is stopped in between
/// @param await         here: until it has let go
void expect_stopped_again(const std::function<void()>& hold, const std::function<void()>& let_go,
                          const std::function<void()>& await) {
  Child child([&](const Talk&) {
    hold();
    raise(SIGSTOP);
    let_go();
    for (;;) pause();
  });
  const auto pid = static_cast<pid_t>(child.pid());
  ASSERT_EQ(waitpid(pid, nullptr, WUNTRACED), pid);
  await();
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  EXPECT_TRUE(WIFSTOPPED(status));
}

TEST(SoftwareDeviceProcesses, OnlyARingThatIsEmptyBeginsAnew) {
  const Shared<std::array<std::byte, sizeof(Ring)>> memory;
  Ring& ring = *new (&*memory) Ring(4);
  ring.push();
  ring.push();
  ring.pop();
  ring.rewind_if_empty();
  EXPECT_EQ(ring.head(), 2U);
  EXPECT_EQ(ring.tail(), 1U);
  ring.pop();
  ring.rewind_if_empty();
  EXPECT_EQ(ring.head(), 0U);
  EXPECT_TRUE(ring.empty());
  EXPECT_TRUE(ring.producers.try_lock());
}

TEST(SoftwareDeviceProcesses, AHolderThatWasStoppedLetsGoAndIsStoppedAgain) {
  const Shared<SharedLock> lock;
  const auto take = [&] { (*lock).lock(); };
  expect_stopped_again(
      take, [&] { (*lock).unlock(); }, take);
}

TEST(SoftwareDeviceProcesses, AUserThatWasStoppedLeavesAndIsStoppedAgain) {
  const Shared<UseCount> uses;
  expect_stopped_again([&] { (*uses).enter(); }, [&] { (*uses).leave(); },
                       [&] { (*uses).await_none(); });
}

}  // namespace
}  // namespace rdmameter::software::testing
